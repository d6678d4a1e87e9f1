#include "tessera/vta/sim/machine.h"

#include <algorithm>
#include <cstring>

namespace tessera::vta {
namespace {

// Calls body(dst, src, wgt) for every tile operation, in the hardware's order.
template <typename Body>
void ForEachOperation(const Instruction& k, std::span<const Uop> uops, const Body& body) {
  for (uint32_t o = 0; o < k.iter_out; ++o) {
    for (uint32_t i = 0; i < k.iter_in; ++i) {
      const uint32_t dst = o * k.dst_factor_out + i * k.dst_factor_in;
      const uint32_t src = o * k.src_factor_out + i * k.src_factor_in;
      const uint32_t wgt = o * k.wgt_factor_out + i * k.wgt_factor_in;
      for (uint32_t u = k.uop_bgn; u < k.uop_end; ++u) {
        body(dst + uops[u].dst, src + uops[u].src, wgt + uops[u].wgt);
      }
    }
  }
}

// Shift amounts use their low five bits, as the hardware does; a negative one shifts left.
uint32_t ShiftRight(int32_t value, int32_t amount) {
  if (amount >= 0) return static_cast<uint32_t>(value >> (amount & 31));
  return static_cast<uint32_t>(value) << (-static_cast<int64_t>(amount) & 31);
}

uint32_t Apply(AluOp op, int32_t x, int32_t y) {
  switch (op) {
    case AluOp::kMin: return static_cast<uint32_t>(std::min(x, y));
    case AluOp::kMax: return static_cast<uint32_t>(std::max(x, y));
    case AluOp::kAdd: return static_cast<uint32_t>(x) + static_cast<uint32_t>(y);
    case AluOp::kShr: return ShiftRight(x, y);
    case AluOp::kMul: return static_cast<uint32_t>(x) * static_cast<uint32_t>(y);
  }
  return 0;
}

}  // namespace

Machine::Machine(Program& program)
    : program_(program),
      encoding_(program.config),
      inp_elements_(program.config.batch() * program.config.block_in()),
      wgt_elements_(program.config.block_out() * program.config.block_in()),
      acc_elements_(program.config.batch() * program.config.block_out()),
      uops_(static_cast<size_t>(program.config.Depth(Memory::kUop))),
      inp_(static_cast<size_t>(program.config.Depth(Memory::kInp) * inp_elements_)),
      wgt_(static_cast<size_t>(program.config.Depth(Memory::kWgt) * wgt_elements_)),
      acc_(static_cast<size_t>(program.config.Depth(Memory::kAcc) * acc_elements_)) {}

void Machine::Execute(const Instruction& instruction) {
  if (instruction.IsNop()) return;
  if (instruction.Is(Opcode::kLoad)) Load(instruction);
  if (instruction.Is(Opcode::kStore)) Store(instruction);
  if (instruction.Is(Opcode::kGemm)) Gemm(instruction);
  if (instruction.Is(Opcode::kAlu)) Alu(instruction);
}

void Machine::LoadTile(Memory memory, int64_t index, const uint8_t* bytes) {
  const auto widen = [bytes](auto* tile, int64_t elements) {
    for (int64_t i = 0; i < elements; ++i) {
      tile[i] = static_cast<std::remove_pointer_t<decltype(tile)>>(static_cast<int8_t>(bytes[i]));
    }
  };
  switch (memory) {
    case Memory::kUop: {
      uint32_t word;
      std::memcpy(&word, bytes, sizeof word);
      uops_[static_cast<size_t>(index)] = encoding_.DecodeUop(word);
      break;
    }
    case Memory::kWgt:
      widen(&wgt_[static_cast<size_t>(index * wgt_elements_)], wgt_elements_);
      break;
    case Memory::kInp:
      widen(&inp_[static_cast<size_t>(index * inp_elements_)], inp_elements_);
      break;
    case Memory::kAcc:
      std::memcpy(&acc_[static_cast<size_t>(index * acc_elements_)], bytes,
                  static_cast<size_t>(acc_elements_) * 4);
      break;
    case Memory::kAcc8Bit:
      widen(&acc_[static_cast<size_t>(index * acc_elements_)], acc_elements_);
      break;
    case Memory::kOut: break;
  }
}

void Machine::ClearTile(Memory memory, int64_t index) {
  const auto clear = [index](auto& buffer, int64_t elements) {
    std::fill_n(buffer.begin() + index * elements, elements, 0);
  };
  switch (memory) {
    case Memory::kUop: uops_[static_cast<size_t>(index)] = {}; break;
    case Memory::kWgt: clear(wgt_, wgt_elements_); break;
    case Memory::kInp: clear(inp_, inp_elements_); break;
    case Memory::kAcc:
    case Memory::kAcc8Bit: clear(acc_, acc_elements_); break;
    case Memory::kOut: break;
  }
}

void Machine::Load(const Instruction& load) {
  const Memory memory = load.memory();
  const int64_t tile_bytes = program_.config.TileBytes(memory);
  int64_t index = load.sram_base;
  const int64_t rows = int64_t{load.y_pad_0} + load.y_size + load.y_pad_1;
  const int64_t columns = int64_t{load.x_pad_0} + load.x_size + load.x_pad_1;
  for (int64_t y = -int64_t{load.y_pad_0}; y < rows - load.y_pad_0; ++y) {
    for (int64_t x = -int64_t{load.x_pad_0}; x < columns - load.x_pad_0; ++x, ++index) {
      if (y < 0 || y >= load.y_size || x < 0 || x >= load.x_size) {
        ClearTile(memory, index);
      } else {
        const int64_t address = (load.dram_base + y * load.x_stride + x) * tile_bytes;
        LoadTile(memory, index,
                 &program_.dram[static_cast<uint64_t>(address) - program_.dram_base]);
      }
    }
  }
  counts_.load_bytes[load.memory_type] += int64_t{load.x_size} * load.y_size * tile_bytes;
}

void Machine::Store(const Instruction& store) {
  const int64_t tile_bytes = program_.config.TileBytes(Memory::kOut);
  const uint32_t* acc = &acc_[static_cast<size_t>(store.sram_base * acc_elements_)];
  for (int64_t y = 0; y < store.y_size; ++y) {
    const int64_t address = (store.dram_base + y * store.x_stride) * tile_bytes;
    uint8_t* row = &program_.dram[static_cast<uint64_t>(address) - program_.dram_base];
    for (int64_t i = 0; i < store.x_size * acc_elements_; ++i)
      row[i] = static_cast<uint8_t>(*acc++);
  }
  counts_.store_bytes += int64_t{store.x_size} * store.y_size * tile_bytes;
}

void Machine::Gemm(const Instruction& gemm) {
  if (gemm.reset != 0) {
    ForEachOperation(gemm, uops_, [this](uint32_t dst, uint32_t, uint32_t) {
      std::fill_n(acc_.begin() + dst * acc_elements_, acc_elements_, 0);
    });
    counts_.reset_tile_ops += gemm.Rounds();
    return;
  }
  counts_.gemm_tile_ops += gemm.Rounds();
  switch (program_.config.block_in()) {
    case 8: return MultiplyTiles<8>(gemm);
    case 16: return MultiplyTiles<16>(gemm);
    case 32: return MultiplyTiles<32>(gemm);
    default: return MultiplyTiles<0>(gemm);
  }
}

// kBlockIn = 0 takes the block from the configuration; a constant one lets the compiler unroll.
template <int kBlockIn>
void Machine::MultiplyTiles(const Instruction& gemm) {
  const int64_t block_in = kBlockIn != 0 ? kBlockIn : program_.config.block_in();
  const int64_t batch = program_.config.batch(), block_out = program_.config.block_out();
  ForEachOperation(gemm, uops_, [&](uint32_t dst, uint32_t src, uint32_t wgt) {
    uint32_t* acc = &acc_[static_cast<size_t>(dst * acc_elements_)];
    for (int64_t b = 0; b < batch; ++b) {
      const int16_t* inp = &inp_[static_cast<size_t>(src * inp_elements_ + b * block_in)];
      const int16_t* row = &wgt_[static_cast<size_t>(wgt * wgt_elements_)];
      for (int64_t n = 0; n < block_out; ++n, row += block_in) {
        int32_t sum = 0;  // at most 4096 * 2^14: no overflow
        for (int64_t k = 0; k < block_in; ++k) sum += int32_t{inp[k]} * int32_t{row[k]};
        *acc++ += static_cast<uint32_t>(sum);
      }
    }
  });
}

void Machine::Alu(const Instruction& alu) {
  const AluOp op = static_cast<AluOp>(alu.alu_opcode);
  ForEachOperation(alu, uops_, [&](uint32_t dst, uint32_t src, uint32_t) {
    uint32_t* x = &acc_[static_cast<size_t>(dst * acc_elements_)];
    // An immediate operation does not read src, which may then be any number.
    const uint32_t* y = alu.use_imm != 0 ? x : &acc_[static_cast<size_t>(src * acc_elements_)];
    for (int64_t i = 0; i < acc_elements_; ++i) {
      const int32_t operand = alu.use_imm != 0 ? alu.imm : static_cast<int32_t>(y[i]);
      if (op == AluOp::kShr && (operand < 0 || operand > 31)) odd_shift_ |= alu.use_imm == 0;
      x[i] = Apply(op, static_cast<int32_t>(x[i]), operand);
    }
  });
  counts_.alu_tile_ops += alu.Rounds();
}

}  // namespace tessera::vta
