"""The StarT-X cluster: network interfaces (NIUs) on an Arctic fat tree.

What is modelled:

- An NIU has a transmit and a receive queue of messages for each of two priorities (`niu`), and an
  RDMA engine that sends and one that receives (`rdma`).
- The network (`arctic`) is a binary fat tree of Arctic switches.  High-priority traffic may hold up
  low-priority traffic, never the reverse.  `fabric` holds it, and the NIU of every host.
- Queues are finite.  A message leaves its transmit queue when the receive queue has a place for it;
  until then it holds back what is behind it, and a full transmit queue holds back the processor.
  Nothing is dropped.
- RDMA data travel with high priority and leave no place to fill: they go to pinned memory.  While the
  engine packetizes a piece no message of high priority may be stored: the NIU reports that.

Source: the paper, section 2; constants.py names each number.
"""

from conduits.startx.hardware.arctic import ArcticLink
from conduits.startx.hardware.fabric import ArcticFabric
from conduits.startx.hardware.niu import GRANT, HIGH, LOW, MESSAGE, Niu
from conduits.startx.hardware.pinned import StartXError
from conduits.startx.hardware.rdma import Armed

__all__ = ["GRANT", "HIGH", "LOW", "MESSAGE", "ArcticFabric", "ArcticLink", "Armed", "Niu", "StartXError"]
