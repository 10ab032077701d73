"""ONNX Runtime with the same weights in eight bits, as a peer of the encoder.

Called with a folder that has model.safetensors and tokenizer.json, a folder for
what it makes of them, and a number of threads. Makes an ONNX model the way such
models are published (exported plainly, weights in eight bits by ONNX Runtime's
own dynamic quantisation), and a second one in which attention is ONNX Runtime's
own operator for it. Says on the first line what it is; then, for each line of
JSON with texts, encodes them and says how long it took, from texts to vectors,
in the fastest way it has.
"""

import json
import logging
import os
import shutil
import sys
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

source, folder, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
LAYERS, HEADS, HIDDEN, LONGEST = 6, 12, 384, 256
logging.disable(logging.WARNING)


def read_weights():
    with open(os.path.join(source, "model.safetensors"), "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    weights = {}
    for name, place in header.items():
        if place["dtype"] == "F32":
            start, end = place["data_offsets"]
            numbers = np.frombuffer(data[start:end], "<f4")
            weights[name] = numbers.reshape(place["shape"])
    return weights


class Graph:
    """An ONNX graph as it is built: operators by their position."""

    def __init__(self, weights, is_fused):
        self.weights, self.nodes, self.constants = weights, [], {}
        self.is_fused = is_fused

    def constant(self, name, value):
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def add(self, kind, *inputs, **attributes):
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **attributes))
        return name

    def linear(self, rows, name):
        weight = self.constant(name + ".weight", self.weights[name + ".weight"].T)
        bias = self.constant(name + ".bias", self.weights[name + ".bias"])
        return self.add("Add", self.add("MatMul", rows, weight), bias)

    def norm(self, rows, name):
        weight = self.constant(name + ".weight", self.weights[name + ".weight"])
        bias = self.constant(name + ".bias", self.weights[name + ".bias"])
        return self.add("LayerNormalization", rows, weight, bias, axis=-1, epsilon=1e-12)

    def embed(self):
        def table(name):
            name = f"embeddings.{name}_embeddings.weight"
            return self.constant(name, self.weights[name])

        words = self.add("Gather", table("word"), "input_ids")
        kinds = self.add("Gather", table("token_type"), "token_type_ids")
        length = self.add("Gather", self.add("Shape", "input_ids"), self.number("one", [1]))
        bounds = self.number("zero", [0]), length, self.number("zero", [0])
        positions = self.add("Slice", table("position"), *bounds)
        rows = self.add("Add", self.add("Add", words, kinds), positions)
        return self.norm(rows, "embeddings.LayerNorm")

    def number(self, name, value, kind=np.int64):
        return self.constant(name, np.array(value, kind))

    def heads(self, rows, order):
        shape = self.number("in_heads", [0, 0, HEADS, HIDDEN // HEADS])
        return self.add("Transpose", self.add("Reshape", rows, shape), perm=order)

    def attend_fused(self, rows, mask, name):
        parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self.weights[part + ".weight"].T for part in parts], 1)
        bias = np.concatenate([self.weights[part + ".bias"] for part in parts])
        inputs = self.constant(name + ".qkv.weight", weight), self.constant(name + ".qkv.bias", bias)
        return self.add("Attention", rows, *inputs, mask, domain="com.microsoft", num_heads=HEADS)

    def attend(self, rows, mask, name):
        parts = [self.linear(rows, f"{name}.attention.self.{part}") for part in ("query", "key", "value")]
        queries, values = self.heads(parts[0], [0, 2, 1, 3]), self.heads(parts[2], [0, 2, 1, 3])
        scores = self.add("MatMul", queries, self.heads(parts[1], [0, 2, 3, 1]))
        root = self.number("root", (HIDDEN // HEADS) ** 0.5, np.float32)
        scores = self.add("Add", self.add("Div", scores, root), mask)
        taken = self.add("MatMul", self.add("Softmax", scores, axis=-1), values)
        taken = self.add("Transpose", taken, perm=[0, 2, 1, 3])
        return self.add("Reshape", taken, self.number("joined", [0, 0, HIDDEN]))

    def layer(self, rows, mask, name):
        taken = (self.attend_fused if self.is_fused else self.attend)(rows, mask, name)
        taken = self.linear(taken, f"{name}.attention.output.dense")
        rows = self.norm(self.add("Add", taken, rows), f"{name}.attention.output.LayerNorm")
        inner = self.linear(rows, f"{name}.intermediate.dense")
        # The form in which it is exported, and which ONNX Runtime knows to fuse.
        part = self.add("Erf", self.add("Div", inner, self.number("root2", 2**0.5, np.float32)))
        part = self.add("Add", part, self.number("one_f", 1, np.float32))
        inner = self.add("Mul", self.add("Mul", inner, part), self.number("half", 0.5, np.float32))
        outer = self.linear(inner, f"{name}.output.dense")
        return self.norm(self.add("Add", outer, rows), f"{name}.output.LayerNorm")

    def mask(self):
        if self.is_fused:
            return self.add("Cast", "attention_mask", to=TensorProto.INT32)
        mask = self.add("Unsqueeze", "attention_mask", self.number("middle", [1, 2]))
        mask = self.add("Cast", mask, to=TensorProto.FLOAT)
        mask = self.add("Sub", self.number("one_f", 1, np.float32), mask)
        return self.add("Mul", mask, self.number("never", -10000, np.float32))

    def model(self):
        rows = self.embed()
        mask = self.mask()
        for layer in range(LAYERS):
            rows = self.layer(rows, mask, f"encoder.layer.{layer}")
        self.nodes[-1].output[0] = "last_hidden_state"
        names = ["input_ids", "attention_mask", "token_type_ids"]
        shape = ["batch", "length"]
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in names]
        output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, shape + [HIDDEN])
        graph = helper.make_graph(self.nodes, "minilm", inputs, [output], list(self.constants.values()))
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets)
        model.ir_version = 8
        onnx.checker.check_model(model)
        return model


def make_models():
    """The files of the models, by what they are. Made once."""
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    files = {
        "plain": os.path.join(folder, "onnx", "model_quantized.onnx"),
        "fused": os.path.join(folder, "fused_quantized.onnx"),
    }
    for name, file in files.items():
        if not os.path.exists(file):
            whole = os.path.join(folder, name + ".onnx")
            onnx.save(Graph(read_weights(), name == "fused").model(), whole)
            # Behind an operator of its own it does not know types by itself.
            known = {"DefaultTensorType": TensorProto.FLOAT}
            how = {"per_channel": True, "weight_type": QuantType.QInt8, "extra_options": known}
            quantize_dynamic(whole, file + ".part", **how)
            os.replace(file + ".part", file)
            os.remove(whole)
    describe()
    return files


def describe():
    """What transformers.js asks for beside the model."""
    shutil.copy(os.path.join(source, "tokenizer.json"), folder)
    config = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": HIDDEN}
    tokenizer = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": LONGEST}
    tokenizer |= {f"{name}_token": f"[{name.upper()}]" for name in ("cls", "mask", "pad", "sep", "unk")}
    for name, content in {"config.json": config, "tokenizer_config.json": tokenizer}.items():
        with open(os.path.join(folder, name), "w") as file:
            json.dump(content, file)


def open_session(file):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    return ort.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def encode(session, texts, at_once):
    """Vectors of texts, so many at once, those of like length together."""
    pieces = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    order = sorted(range(len(pieces)), key=lambda text: len(pieces[text]))
    vectors = [None] * len(texts)
    for start in range(0, len(order), at_once):
        batch = order[start : start + at_once]
        length = max(len(pieces[text]) for text in batch)
        ids = np.zeros((len(batch), length), np.int64)
        mask = np.zeros((len(batch), length), np.int64)
        for row, text in enumerate(batch):
            ids[row, : len(pieces[text])] = pieces[text]
            mask[row, : len(pieces[text])] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        rows = session.run(None, inputs)[0]
        means = (rows * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        for row, text in enumerate(batch):
            vectors[text] = means[row]
    return vectors


def run(way, texts):
    session, at_once = way
    start = time.perf_counter()
    vectors = encode(session, texts, at_once)
    return time.perf_counter() - start, vectors


tokenizer = Tokenizer.from_file(os.path.join(source, "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(LONGEST)
sessions = {name: open_session(file) for name, file in make_models().items()}
ways = {f"{name}, {at_once} at once": (session, at_once) for name, session in sessions.items() for at_once in (1, 8, 32)}
fastest = {}
print(json.dumps({"version": ort.__version__}), flush=True)
for line in sys.stdin:
    texts = json.loads(line)["texts"]
    if len(texts) not in fastest:
        fitting = {name: way for name, way in ways.items() if way[1] <= len(texts)}
        tried = {name: min(run(way, texts)[0] for _ in range(3)) for name, way in fitting.items()}
        fastest[len(texts)] = min(tried, key=tried.get)
    seconds, vectors = run(ways[fastest[len(texts)]], texts)
    print(json.dumps({"seconds": seconds, "way": fastest[len(texts)], "vector": vectors[0].tolist()}), flush=True)
