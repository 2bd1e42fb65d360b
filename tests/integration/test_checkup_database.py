"""What doctor sees of a real server."""

from __future__ import annotations

from perdure.store.external import inspect_server, keeps_statements


def test_a_server_and_what_stands_before_it_are_looked_over_by_the_application_role(urls, test_server) -> None:
    seen = inspect_server(urls.app)
    assert seen.major >= 15
    assert seen.vector is not None
    assert seen.open_tables == ()
    assert abs(seen.ahead_s) < 5
    assert 0 < seen.taken < seen.most_connections
    pooler = test_server.pooler
    assert seen.pooled is (pooler is not None)
    assert keeps_statements(urls.app) is (pooler is None or pooler.prepares)
