// Uses an installed Tessera: loads a network of the zoo and prints its MACs.
#include <cstdio>

#include "tessera/network.h"

int main() {
  const tessera::Result<tessera::Network> network = tessera::LoadNetwork("resnet18");
  if (!network) return 1;
  std::printf("%lld\n", static_cast<long long>(tessera::TotalMacs(*network)));
  return 0;
}
