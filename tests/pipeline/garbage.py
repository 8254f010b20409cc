"""Authors that answer with garbage: the offline author, spoiled now and then, or for ever for one domain."""

import json
from random import Random

from skillweave.llm.backends.backend import Request
from skillweave.schema.record import Json
from synth.offline.author import OfflineAuthor
from tests.llm.fault_injection import INJECTED_FAULTS, spoil

WILD_GENERATORS = [
    "def generate(seed, now, people, pools):\n    while True:\n        pass\n",
    "import os\n\ndef generate(seed, now, people, pools):\n    while True:\n        os.fork()\n",
    "import socket\n\ndef generate(*given):\n    socket.create_connection(('127.0.0.1', 9))\n    return {}\n",
    "def generate(*given):\n    open('/var/tmp/skillweave_escaped', 'w').write('x')\n    return {}\n",
    "def generate(*given):\n    return {'patient': [bytearray(1 << 30) for _ in range(64)]}\n",
    "def generate(*given):\n    print('x' * (1 << 28))\n    return {}\n",
    "def generate(*given):\n    return {'patient': [{'patient_id': 1}]}\n",
    "def generate(*given)\n    return {}\n",
]
LEFT_OUT = "extend_invoice"
"""The dentists' tool whose contract `Hopeless` never gets right."""
WILD_SERVERS = [
    "import os\nos.system('true')\n",
    "while True:\n    pass\n",
    "from socket import socket\nserver = socket()\n",
    "server = None\n",
    "def broken(:\n",
]


class Sloppy(OfflineAuthor):
    """Every third first answer is spoiled; a repaired one is right."""

    def __call__(self, request: Request) -> str:
        text = super().__call__(request)
        random = Random(f"sloppy/{request.question}/{request.key}")
        if request.attempt or random.random() > 0.35:
            return text
        return _spoiled(text, request.question, random)


class Hopeless(OfflineAuthor):
    """No contract of the physiotherapists is ever right, and one of the dentists' is not."""

    def __call__(self, request: Request) -> str:
        text = super().__call__(request)
        if request.question != "blueprint.contracts":
            return text
        contracts = json.loads(text)["contracts"]
        if request.key.startswith("DentalClinic/"):
            contracts = [_drawn(one) if one["tool"] == LEFT_OUT else one for one in contracts]
        else:
            contracts = [_drawn(one) for one in contracts]
        return json.dumps({"contracts": contracts})


class Wild(OfflineAuthor):
    """Its generators and servers attack the machine, for ever, each domain in another way."""

    def __call__(self, request: Request) -> str:
        random = Random(f"wild/{request.question}/{request.key}/{request.attempt}")
        if request.question == "database.generator" and request.key.startswith("PhysioPractice"):
            return random.choice(WILD_GENERATORS)
        if request.question == "server.write" and request.key.startswith("DentalClinic"):
            return random.choice(WILD_SERVERS)
        return super().__call__(request)


class Linkless(OfflineAuthor):
    """Its links lead from nowhere to nowhere."""

    question = "fusion.links"
    text = '[{"kind": "value", "source": "Mars", "producer": "ask", "target": "Venus", "consumer": "tell", "why": "x"}]'

    def __call__(self, request: Request) -> str:
        return self.text if request.question == self.question else super().__call__(request)


class Storyless(Linkless):
    """Its stories are of companies that there are not."""

    question = "fusion.stories"
    text = (
        '[{"name": "one", "title": "One", "reasons": ["Why not?"], '
        '"calls": [{"server": "Mars", "tool": "ask"}, {"server": "Venus", "tool": "tell"}]}]'
    )


class Quarrelsome(Linkless):
    """It settles nothing, and its one rule would do damage."""

    question = "fusion.mediate"
    text = (
        '{"conflicts": [], "bridges": [{"rule": "x", "tool": "health_plan__submit_claim", "concern": "eligibility", '
        '"holds": "1); DROP TABLE Patient; SELECT (1", "error": "x", "says": "Claims are for Sundays."}]}'
    )


class Speechless(Linkless):
    """Its policies say nothing of the rules."""

    question = "policy.merge"
    text = '{"introduction": "# Rules\\n\\nBe nice to each other.", "companies": [], "sections": []}'


def _drawn(contract: Json) -> Json:
    drawn: Json = json.loads(json.dumps(contract).replace("SELECT ", "SELECT random(), "))
    return drawn


def _spoiled(text: str, question: str, random: Random) -> str:
    if question == "database.generator":
        return random.choice(WILD_GENERATORS)
    if question == "server.write":
        return random.choice(WILD_SERVERS)
    return spoil(text, random.choice(INJECTED_FAULTS), random)
