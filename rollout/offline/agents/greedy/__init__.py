"""The greedy agent: no knowledge of the task, some of English. It picks tools by words and schemas."""
