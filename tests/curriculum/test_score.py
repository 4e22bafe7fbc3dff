from etude.curriculum.score import Score
from etude.curriculum.states import TaskEvidence


def test_an_evaluation_without_errors_is_scored_by_what_failed():
    score = Score(passed=6, trials=8, episodes=8)

    assert score.evidence(step=50, weights="night@50") == TaskEvidence(
        step=50,
        weights="night@50",
        kind="rollout",
        passed=6,
        trials=8,
        episodes=8,
        score=0.25,
    )


def test_errors_of_windows_are_taken_as_they_are():
    score = Score(passed=6, trials=8, episodes=3, error=0.4, kind="open_loop")

    evidence = score.evidence(step=50, weights="night@50")

    assert (evidence.kind, evidence.episodes, evidence.score) == ("open_loop", 3, 0.4)


def test_where_nothing_was_tried_nothing_is_known():
    evidence = Score(passed=0, trials=0, episodes=0).evidence(step=0, weights="night@0")

    assert evidence.score is None
    assert not evidence.usable
