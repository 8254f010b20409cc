"""What words of a refusal say: which rules are named, and whether as its ground; what is claimed or promised."""
