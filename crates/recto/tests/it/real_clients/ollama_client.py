"""Ollama's own client against a front door; the model behind it is a fake with set answers."""

import sys

import ollama
from ollama import Client
from pydantic import BaseModel

# A server that does not answer fails the test, and does not hold it.
client = Client(host=sys.argv[1], timeout=60)

# Models.
names = [model.model for model in client.list().models]
assert names == ["recto:latest", "main:latest", "main/m:latest", "all-minilm:latest"], names
shown = client.show("main")
assert "tools" in shown.capabilities, shown
assert shown.modelinfo["recto.context_length"] == 16384, shown
assert list(client.ps().models) == []

# A reply, whole.
said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüß dich 🚢"}]
reply = client.chat(model="main", messages=said)
assert reply.message.content == "Ahoy, ünïcode 🚢.", reply
assert reply.done and reply.done_reason == "stop"
assert reply.prompt_eval_count > 0 and reply.eval_count > 0 and reply.total_duration > 0
assert reply.load_duration is None

# A reply in pieces.
said += [reply.message, {"role": "user", "content": "Count."}]
options = {"temperature": 0.5, "num_predict": 100, "num_ctx": 4096}
pieces = list(client.chat(model="main", messages=said, stream=True, options=options, keep_alive="5m"))
text = "".join(piece.message.content for piece in pieces)
assert text == "one two three", text
# Text that comes faster than it is read is joined, so that there may be one piece of it.
assert len(pieces) > 1 and pieces[-1].done and not pieces[0].done, pieces
said.append({"role": "assistant", "content": text})


# Tools: a function of Python's, two calls at once, and their results. This client keeps no ids.
def weather(city: str) -> str:
    """Tells the weather.

    Args:
        city: Where.
    """
    return {"Oslo": "snow", "Rome": "sun"}[city]


said.append({"role": "user", "content": "How is the weather?"})
asked = client.chat(model="main", messages=said, tools=[weather])
calls = asked.message.tool_calls
assert [call.function.arguments["city"] for call in calls] == ["Oslo", "Rome"], asked
said.append(asked.message)
for call in calls:
    result = weather(**call.function.arguments)
    said.append({"role": "tool", "tool_name": call.function.name, "content": result})
assert client.chat(model="main", messages=said, tools=[weather]).message.content == "Snow, and sun."



# A reply in the form of a schema.
class Person(BaseModel):
    name: str
    age: int


form = Person.model_json_schema()
options = {"stop": ["END"], "seed": 7}
ann = client.generate(model="main", prompt="Ann is three.", format=form, options=options)
assert Person.model_validate_json(ann.response) == Person(name="Ann", age=3), ann

# Errors.
hi = [{"role": "user", "content": "hi"}]
for ask, status, words in [
    (lambda: client.chat(model="llama3", messages=hi), 404, "does not exist"),
    (lambda: client.chat(model="main", messages=hi), 502, "boom"),
    (lambda: client.embed(model="main", input="x"), 404, "all-minilm"),
]:
    try:
        ask()
        raise AssertionError(words)
    except ollama.ResponseError as error:
        assert error.status_code == status and words in error.error, error

# Embeddings, in the form of today and the older one.
texts = ["a cat sat on the mat", "a kitten rests on a rug", "quarterly tax report"]
vectors = client.embed(model="all-minilm", input=texts).embeddings
alike = lambda a, b: sum(x * y for x, y in zip(a, b))
assert alike(vectors[0], vectors[1]) > alike(vectors[0], vectors[2]) + 0.2
assert len(client.embeddings(model="all-minilm:latest", prompt=texts[0]).embedding) == 384
# Nothing to embed is a load, and fewer numbers are the first ones, as a direction again.
assert client.embed(model="all-minilm", input="").embeddings == []
assert client.embed(model="all-minilm", input=[]).embeddings == []
assert client.embeddings(model="all-minilm", prompt="").embedding == []
[cut] = client.embed(model="all-minilm", input=texts[0], dimensions=64).embeddings
assert len(cut) == 64 and abs(alike(cut, cut) - 1) < 1e-4
assert alike(cut, vectors[0]) > 0

# A stream that nobody reads to its end.
stream = client.generate(model="main", prompt="hi", stream=True)
for _, piece in zip(range(4), stream):
    pass
stream.close()
print("done")
