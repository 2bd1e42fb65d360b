"""Clients of the server, with the verbs of the library."""

from perdure.client.asking import ServerUnavailable
from perdure.client.asynchronous import AsyncClient, AsyncRemoteSpace
from perdure.client.blocking import Client, RemoteSpace
from perdure.client.contexts import RemoteContext

__all__ = ["AsyncClient", "AsyncRemoteSpace", "Client", "RemoteContext", "RemoteSpace", "ServerUnavailable"]
