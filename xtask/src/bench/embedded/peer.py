"""llama.cpp by way of llama-cpp-python, as a peer of the embedded model.

Called with a model file, a number of threads and a window. Says on the first
line what it is; then, for each line of JSON with a prompt and a number of
tokens, reads the one and writes the other, and says how long each took. Calls
the C functions themselves, so that next to nothing of Python is in the figures,
and leaves everything but threads and window at llama.cpp's own settings.
"""

import ctypes
import json
import sys
import time

import llama_cpp as lib

file, threads, window = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


@lib.llama_log_callback
def hush(level, text, data):
    pass


lib.llama_log_set(hush, ctypes.c_void_p(0))
lib.llama_backend_init()
model = lib.llama_model_load_from_file(file.encode(), lib.llama_model_default_params())
if not model:
    sys.exit("the peer can't load " + file)
parameters = lib.llama_context_default_params()
parameters.n_ctx = window
parameters.n_threads = threads
parameters.n_threads_batch = threads
context = lib.llama_init_from_model(model, parameters)
vocab = lib.llama_model_get_vocab(model)
greedy = lib.llama_sampler_init_greedy()


def say(figures):
    print(json.dumps(figures), flush=True)


def tokens_of(text):
    text = text.encode()
    tokens = (lib.llama_token * (len(text) + 8))()
    count = lib.llama_tokenize(vocab, text, len(text), tokens, len(tokens), False, True)
    return list(tokens[:count])


def decode(tokens):
    array = (lib.llama_token * len(tokens))(*tokens)
    if lib.llama_decode(context, lib.llama_batch_get_one(array, len(tokens))) != 0:
        sys.exit("the peer can't go on")


def run(prompt, wanted):
    lib.llama_memory_clear(lib.llama_get_memory(context), True)
    start = time.perf_counter()
    most = parameters.n_batch
    for at in range(0, len(prompt), most):
        decode(prompt[at : at + most])
    written = [lib.llama_sampler_sample(greedy, context, -1)]
    first = time.perf_counter()
    while len(written) < wanted:
        decode(written[-1:])
        written.append(lib.llama_sampler_sample(greedy, context, -1))
    return first - start, time.perf_counter() - first


system = lib.llama_print_system_info().decode().strip()
say({"version": lib.__version__, "system": system})
run(tokens_of("hello"), 2)
for line in sys.stdin:
    asked = json.loads(line)
    prompt = tokens_of(asked["prompt"])
    first, rest = run(prompt, asked["tokens"])
    say({"prompt": len(prompt), "first": first, "rest": rest})
