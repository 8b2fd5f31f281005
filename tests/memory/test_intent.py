"""What a question asks for."""

from __future__ import annotations

import pytest

from memorygraph.memory.intent import Intent, find_intent, topic_words
from memorygraph.memory.words import words_of

QUESTIONS: dict[Intent, list[str]] = {
    "summary": [
        "Can you give me a short summary of the trip?",
        "Summarise how the garden came along.",
        "Give me an overview of my expenses",
        "A recap of last week, please",
    ],
    "order": [
        "List the order in which I visited the cities",
        "In what order did the guests arrive?",
        "Which order did we paint the rooms in?",
        "Tell me in chronological order what I read",
        "What was the sequence of repairs?",
        "A timeline of my moves",
    ],
    "fact": [
        "What did I order at the restaurant?",
        "Where is my order?",
        "How do I sort a list?",
        "Who painted the kitchen in order to sell the house?",
        "Is my desk in order now?",
        "",
    ],
}


@pytest.mark.parametrize(
    ("wanted", "question"), [(wanted, question) for wanted, questions in QUESTIONS.items() for question in questions]
)
def test_a_question_asks_for_a_fact_an_order_or_a_summary(wanted: Intent, question: str) -> None:
    assert find_intent(question) == wanted


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Can you list the order in which I brought up different aspects of my garden?", ["garden"]),
        ("Give me a comprehensive summary of our conversations about roses so far", ["roses"]),
        ("Summarize everything", ["everything"]),
        ("Recap, please", ["Recap", "please"]),
    ],
)
def test_words_that_say_how_to_answer_are_not_looked_for(question: str, topic: list[str]) -> None:
    assert topic_words(words_of(question)) == topic
