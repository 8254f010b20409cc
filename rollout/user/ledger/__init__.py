"""The fact ledger: what a model-driven user says is checked against what this user can know.

Precision goes before recall: a fault costs another question to the model and then the trajectory, so what may be small
talk, a hedge, a denial or a question about the assistant's words is let pass.
"""

from rollout.user.ledger.ledger import FactLedger

__all__ = ["FactLedger"]
