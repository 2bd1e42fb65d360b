"""The prompt of a turn, from all the rooms that remember, and what follows its reply."""

from perdure.assembling.afterwards import finish_afterwards, start_after_reply
from perdure.assembling.asked import Asked
from perdure.assembling.turn import assemble

__all__ = ["Asked", "assemble", "finish_afterwards", "start_after_reply"]
