"""The offline judge: decides a case from a rule's sentence alone, and says so where it cannot."""
