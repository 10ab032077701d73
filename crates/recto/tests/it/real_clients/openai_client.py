"""OpenAI's own client against a front door; the model behind it is a fake with set answers."""

import json
import math
import sys

import openai
from openai import OpenAI
from pydantic import BaseModel

client = OpenAI(base_url=sys.argv[1], api_key="none")

# Models.
names = [model.id for model in client.models.list()]
assert names == ["recto", "main", "main/m", "all-minilm"], names
assert client.models.retrieve("main").id == "main"

# A reply, whole, with headers.
said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüß dich 🚢"}]
raw = client.chat.completions.with_raw_response.create(model="recto", messages=said)
session, turn = raw.headers["x-recto-session"], raw.headers["x-recto-turn"]
reply = raw.parse()
assert reply.choices[0].message.content == "Ahoy, ünïcode 🚢.", reply
assert reply.choices[0].finish_reason == "stop"
assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens

# A reply in pieces, in the same session.
said += [reply.choices[0].message, {"role": "user", "content": "Count."}]
stream = client.chat.completions.create(
    model="main/m",
    messages=said,
    stream=True,
    stream_options={"include_usage": True},
    temperature=0.5,
    max_completion_tokens=100,
    extra_body={"context_mode": "full"},
)
assert stream.response.headers["x-recto-session"] == session
assert stream.response.headers["x-recto-turn"] != turn
chunks = list(stream)
text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
assert text == "one two three", text
assert len(chunks) > 2, chunks
assert chunks[-1].usage.total_tokens > 0
said.append({"role": "assistant", "content": text})

# Tools: two calls at once, and their results.
tools = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]
said.append({"role": "user", "content": "How is the weather?"})
with client.chat.completions.stream(model="main", messages=said, tools=tools) as events:
    for _ in events:
        pass
    asked = events.get_final_completion().choices[0]
assert asked.finish_reason == "tool_calls", asked
calls = asked.message.tool_calls
assert [json.loads(call.function.arguments)["city"] for call in calls] == ["Oslo", "Rome"], calls
said.append(asked.message)
for call, result in zip(calls, ["snow", "sun"]):
    said.append({"role": "tool", "tool_call_id": call.id, "content": result})
raw = client.chat.completions.with_raw_response.create(model="main", messages=said, tools=tools)
assert raw.headers["x-recto-session"] == session
assert raw.parse().choices[0].message.content == "Snow, and sun.", raw.text


# A reply in the form of a class, and one that ends before a text.
class Person(BaseModel):
    name: str
    age: int


ann = [{"role": "user", "content": "Ann is three."}]
parsed = client.chat.completions.parse(
    model="main", messages=ann, response_format=Person, stop=["END"], seed=7, logprobs=False, n=1
)
assert parsed.choices[0].message.parsed == Person(name="Ann", age=3), parsed

# Errors, each of the class that stands for it.
hi = [{"role": "user", "content": "hi"}]
try:
    client.chat.completions.create(model="gpt-9", messages=hi)
    raise AssertionError("an unknown model was answered")
except openai.NotFoundError as error:
    assert error.code == "model_not_found" and error.param == "model", error
try:
    client.chat.completions.create(model="main", messages=hi, n=2)
    raise AssertionError("two replies were promised")
except openai.BadRequestError as error:
    assert "`n` above 1" in error.message, error
try:
    client.chat.completions.create(model="main", messages=hi)
    raise AssertionError("the model's failure was hidden")
except openai.InternalServerError as error:
    # Once: the client was told not to try again.
    assert "boom" in error.message and error.status_code == 502, error

try:
    client.responses.create(model="main", input="hi")
    raise AssertionError("there are no responses")
except openai.NotFoundError as error:
    assert "/v1/chat/completions" in error.message, error

# Embeddings: as the client asks by itself (base64), and as numbers.
texts = ["a cat sat on the mat", "a kitten rests on a rug", "quarterly tax report"]
vectors = [row.embedding for row in client.embeddings.create(model="all-minilm", input=texts).data]
assert [len(vector) for vector in vectors] == [384] * 3
alike = lambda a, b: sum(x * y for x, y in zip(a, b))
assert alike(vectors[0], vectors[1]) > alike(vectors[0], vectors[2]) + 0.2
floats = client.embeddings.create(model="all-minilm", input=texts[0], encoding_format="float")
assert all(math.isclose(a, b, abs_tol=1e-6) for a, b in zip(floats.data[0].embedding, vectors[0]))
assert floats.usage.prompt_tokens == 8, floats.usage
try:
    client.embeddings.create(model="all-minilm", input=[[1, 2, 3]])
    raise AssertionError("numbers were taken for texts")
except openai.BadRequestError as error:
    assert "send the texts themselves" in error.message, error

# A stream that nobody reads to its end.
stream = client.chat.completions.create(model="main", messages=hi, stream=True)
for _, chunk in zip(range(4), stream):
    pass
stream.close()
print("done")
