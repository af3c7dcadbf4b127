"""PyTorch's scaled_dot_product_attention on the CPU, on all its threads."""
import peer
import torch


def prepare(q, k, v, causal, word):
    torch.set_grad_enabled(False)
    q, k, v = (torch.from_numpy(x) for x in (q, k, v))

    def run():
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).numpy()

    return "PyTorch %s, scaled_dot_product_attention" % torch.__version__.split("+")[0], run


peer.serve(prepare)
