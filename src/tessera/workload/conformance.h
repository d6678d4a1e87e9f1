// What every network format must do, as checks that a test runs over the registry: a new format is
// covered before it has a test of its own. A check returns the first violation.
#ifndef TESSERA_WORKLOAD_CONFORMANCE_H_
#define TESSERA_WORKLOAD_CONFORMANCE_H_

#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera {

// A network with every type of layer and every field in use, small enough to be written in bytes.
Network ConformanceNetwork();

// Empty, binary, UTF-16 and deeply nested input, and noise of the format's own words: errors that
// name the file, the same ones each time.
Result<void> CheckGarbage(const NetworkFormat& format);

// A valid file cut off after every byte, and with every byte replaced, gives a network or an error.
Result<void> CheckDamage(const NetworkFormat& format, const Network& network);

// A binding that the file has no name for is refused.
Result<void> CheckBindings(const NetworkFormat& format, const Network& network);

// Exported files have safe, distinct names, read back, and say nothing new when exported again.
Result<void> CheckRoundTrip(const NetworkFormat& format, const Network& network);

// The network that an export's files hold together.
Result<Network> ReadExport(const NetworkFormat& format, const Export& exported);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_CONFORMANCE_H_
