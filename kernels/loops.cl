/*
 * How many turns of its loops a work-item really makes: outer * inner of them are asked for, and counted. Some drivers end loops after a number
 * of turns, without a word (host/opencl/loops.h).
 *
 * One work-item. ones: {1, 1}, read at places that no compiler foresees, or it would count without turning.
 */
__kernel void loops(const __global int *ones, __global int *turns, const int outer, const int inner) {
  uint x = 1u;
  int count = 0;
  for (int i = 0; i < outer; i++) {
    for (int j = 0; j < inner; j++) {
      x = x * 1664525u + 1013904223u;
      count += ones[x >> 31];
    }
  }
  turns[0] = count;
}
