"""The driver: RSM's transport for Sun Fire Link, and what a conduit's hot path uses of it directly.

How it is begun, and what comes of it::

    fabric = Fabric(kernel, MACHINES["sis"])                   one for the job
    exchange = Exchange()                                      one for the job
    process = SunFire(fabric, host, index_of_cpu, port.cpu)    one for each rank
    rsm = Rsm(process, exchange)                               all of RSMAPI, slow calls
    mapping = controller.import_connect(host, number).map()    then, on the hot path, without RSM:
    mapping.store(offset, lines, issued, announced)
    mapping.fence(then)
    process.processor.cesr, process.read_cesr(), process.stripes(host), process.unreachable(host)
"""

from conduits.sunfire.driver.mapping import Mapping
from conduits.sunfire.driver.process import CESR_PS, SunFire

__all__ = ["CESR_PS", "Mapping", "SunFire"]
