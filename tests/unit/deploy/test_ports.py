import socket

from deploy.local import ports


def test_picked_ports_are_free_and_never_picked_twice() -> None:
    first, second = ports.pick(20), ports.pick(20)
    assert len({*first, *second}) == 40
    assert all(ports.is_free(port) for port in first)


def test_picked_ports_lie_below_those_of_outgoing_connections() -> None:
    assert all(1024 < port < 32768 for port in ports.pick(20))


def test_a_port_is_kept_while_it_is_free_and_replaced_when_taken() -> None:
    (port,) = ports.pick(1)
    assert ports.keep_or_pick(port) == port
    with socket.create_server((ports.HOST, port)):
        assert not ports.is_free(port)
        assert ports.keep_or_pick(port) != port
