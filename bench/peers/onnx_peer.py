"""ONNX Runtime on the CPU: the standard's Attention operator (WORD standard) or the runtime's own MultiHeadAttention (WORD own)."""
import numpy
import onnx
import onnxruntime
import peer
from onnx import TensorProto, helper


def prepare(q, k, v, causal, word):
    batch, heads, q_len, dim = q.shape
    kv_len = k.shape[2]
    own = word == "own"
    if own:  # [batch, length, heads * dim]
        q, k, v = (numpy.ascontiguousarray(x.transpose(0, 2, 1, 3).reshape(batch, x.shape[2], heads * dim)) for x in (q, k, v))
        node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["out"], domain="com.microsoft", num_heads=heads, unidirectional=int(causal))
        domains = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    else:
        node = helper.make_node("Attention", ["q", "k", "v"], ["out"], is_causal=int(causal))
        domains = [helper.make_opsetid("", 23)]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in zip("qkv", (q, k, v))]
    result = helper.make_tensor_value_info("out", TensorProto.FLOAT, q.shape)
    model = helper.make_model(helper.make_graph([node], "attention", infos, [result]), opset_imports=domains, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # the others' turn comes next
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {"q": q, "k": k, "v": v}

    def run():
        out = session.run(None, feed)[0]
        return out.reshape(batch, q_len, heads, dim).transpose(0, 2, 1, 3) if own else out

    return "ONNX Runtime %s, %s" % (onnxruntime.__version__, "MultiHeadAttention" if own else "Attention"), run


peer.serve(prepare)
