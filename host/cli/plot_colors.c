/* The two colour scales: even steps of lightness, and no pair of hues that the colour-blind confuse. */
#include <math.h>

#include "plot.h"

enum { ANCHORS = 9 };

/* From dark violet over teal to yellow: lightness alone tells more from less. */
static const unsigned shares[ANCHORS] = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
                                         0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
/* Blue for what is below zero, orange for what is above. */
static const unsigned signs[ANCHORS] = {0x12436d, 0x2f6fa7, 0x6ea0cf, 0xb3cce4, 0xf4f2ee,
                                        0xf3cda6, 0xe09a58, 0xb9651f, 0x7c3a06};

static double channel(const unsigned *anchors, double position, int shift) {
  const double place = fmin(fmax(position, 0), 1) * (ANCHORS - 1);
  const int index = place >= ANCHORS - 1 ? ANCHORS - 2 : (int)place;
  const double from = (double)(anchors[index] >> shift & 0xffu), to = (double)(anchors[index + 1] >> shift & 0xffu);
  return (from + (to - from) * (place - index)) / 255;
}

struct plot_color ctn_plot_color(enum plot_scale scale, double position) {
  const unsigned *anchors = scale == PLOT_SHARES ? shares : signs;
  return (struct plot_color){channel(anchors, position, 16), channel(anchors, position, 8), channel(anchors, position, 0)};
}

static double linear(double value) {
  return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

/* Where white on the colour has more contrast than black, by relative luminance. */
bool ctn_plot_is_dark(struct plot_color color) {
  const double luminance = 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
  return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05;
}
