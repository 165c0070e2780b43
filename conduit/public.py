"""What the public names of this package stand for: imported when the first of them is asked for."""

from conduit.contract import Conduit as Conduit
from conduit.core.checked_call import call_guard as call_guard
from conduit.core.checked_call import checked_call as checked_call
from conduit.core.checked_call import refuse_call as refuse_call
from conduit.core.endpoint import Endpoint as Endpoint
from conduit.core.token import Token as Token
from conduit.errors import BadRequest as BadRequest
from conduit.errors import ConduitError as ConduitError
from conduit.errors import ConduitWarning as ConduitWarning
from conduit.errors import Deadlock as Deadlock
from conduit.errors import HandlerError as HandlerError
from conduit.errors import Livelock as Livelock
from conduit.errors import NetworkError as NetworkError
from conduit.errors import TimeLimit as TimeLimit
from conduit.errors import UnknownConduit as UnknownConduit
from conduit.launch.errors.tracebacks import trim_tracebacks as trim_tracebacks
from conduit.launch.registry import available as available
from conduit.launch.result import Result as Result
from conduit.launch.run import current as current
from conduit.launch.run import run as run
from conduit.launch.run import run_async as run_async
