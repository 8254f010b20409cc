"""What sentences say: their values, what they assert and deny, and what of it speaks of a fact."""
