# SPDX-FileCopyrightText: The camd authors
# SPDX-License-Identifier: Apache-2.0
"""A Zenoh router where there is neither zenohd nor ROS: pip install eclipse-zenoh

    python3 router.py FILE.json5 [KEY=VALUE]...

KEY=VALUE changes a setting of the file: listen/endpoints='["tcp/[::]:7450"]'.
"""

import signal
import sys

import zenoh

if len(sys.argv) < 2:
    sys.exit(__doc__)
config = zenoh.Config.from_file(sys.argv[1])
for pair in sys.argv[2:]:
    key, _, value = pair.partition("=")
    config.insert_json5(key, value)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
with zenoh.open(config) as session:
    print("router", session.info.zid(), "is up", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
