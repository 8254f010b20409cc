"""The fact ledger: what a simulated user says is checked against what this user can know.

Precision goes before recall: a fault costs another question to the model and then the trajectory, so what may be small
talk, a hedge, a denial or a question about the assistant's words is let pass.
"""

from evaluator.ledger.background import Background
from evaluator.ledger.ledger import FactLedger

__all__ = ["Background", "FactLedger"]
