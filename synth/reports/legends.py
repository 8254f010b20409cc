"""What the tables of a card mean, in a paragraph each, for who has only the card."""

KINDS = (
    "`do` changes records; `inform` tells the user something; `refuse` must be recorded as declined, since a rule "
    "forbids it; `clarify` leaves something unsaid that the agent has to ask for; `unavailable` is served by no tool "
    "that is offered, and is handed over to a human."
)
GATES = (
    "The source of an argument is what the user says, the session or the policy gives, or a field of an earlier "
    "result. Wrong and right trajectories are made from the golden ones by execution; one that is judged wrongly "
    "costs its task, which is the rate of tasks dropped. The second set, by other operators and another seed, drops "
    "nothing, and its rates are of trajectories (`python -m evaluator selftest --held-out` measures them)."
)
SEARCHES = {
    "proved": "the golden end state, and the shortest ways there",
    "undecided": "nothing before it came to its bound",
    "never": "of what a rule forbids: no lawful way to what it would change",
    "skipped": "not made: the tool itself refuses the request, or nothing is asked of a tool",
    "by effects": "not made: no effect of an offered tool writes the columns in question",
}
"""What a search came to, and what that says."""
COVERAGE = (
    "Of what the contracts have: tools and effects that golden calls use, rules of the tools that they meet or that "
    "forbid what is asked, pairs of tools that follow each other, values of arguments' enums. What a policy says of "
    "effects is among the rules of the next table, and not of this one."
)
RULES = (
    "A rule is kept by golden calls that meet it, and would be broken by what a `refuse` task asks for, or by leaving"
    " out a call that it demands. Many only say what a call does, and cannot be broken by a request. "
    "`rules/<world>.json` lists them all, with the reasons."
)
JUDGED = (
    "In cases at the limit of a rule, one that just meets it and one that just breaks it, the judge decided from the "
    "rule's sentence alone; a sentence that it decided otherwise than the SQL was worded anew."
)
NOT_JUDGED = (
    "Not judged: figures and enum values of each rule's sentence were compared with its SQL, and no model read the "
    "sentence (`llm.judge` named none)."
)
USERS = (
    "Lost to the user: not scored, since the user said what it cannot know. Left: the user went while a question was "
    "open, its request neither done, declined nor handed over; scored as it stands."
)
AGENTS = (
    "`random` calls by chance; `careless` does what is golden and makes a slip; `policy_blind` does what is golden and "
    "heeds no rule that the tools leave to it; `oracle` has read the golden calls."
)
