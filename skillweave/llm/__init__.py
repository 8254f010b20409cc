"""The one door to authors: questions, their answers, and the backends that answer them."""
