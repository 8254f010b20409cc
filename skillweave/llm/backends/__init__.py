"""Who answers: one module a provider."""
