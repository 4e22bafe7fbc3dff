import torch

from etude.checkpoints.copies import Copies, own_part, themselves


def test_a_copy_stays_as_the_tensor_was_at_its_instant():
    copies, tensor = Copies(), torch.tensor([1.0, 2.0])

    first = copies.take("a", tensor)
    tensor += 10
    again = copies.take("a", tensor)

    assert first.tolist() == [1.0, 2.0]
    assert again is first


def test_a_new_instant_uses_the_same_memory_again():
    copies, tensor = Copies(), torch.tensor([1.0, 2.0])
    first = copies.take("a", tensor)
    tensor += 10

    copies.new_instant()
    second = copies.take("a", tensor)

    assert second is first
    assert second.tolist() == [11.0, 12.0]


def test_a_tensor_of_another_shape_gets_memory_of_its_own():
    copies = Copies()
    first = copies.take("a", torch.zeros(2))

    second = copies.take("a", torch.ones(3))

    assert (first.tolist(), second.tolist()) == ([0.0, 0.0], [1.0, 1.0, 1.0])


def test_without_a_copy_the_tensor_itself_is_written():
    tensor = torch.nn.Parameter(torch.ones(2))

    taken = themselves("a", tensor)

    assert taken.data_ptr() == tensor.data_ptr()
    assert not taken.requires_grad
    assert own_part(taken) is taken
