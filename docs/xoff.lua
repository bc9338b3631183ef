-- Wireshark and tshark show the frame formats of xoff with this: frames of type 0x88B5, the
-- extensions of pauses, data and ACKs, and the trailers of live wires. docs/see.md has the layouts.
--
--   tshark -X lua_script:docs/xoff.lua -r capture.pcapng -Y xoff

local xoff = Proto("xoff", "xoff control frame")
local beside = Proto("xoff_beside", "xoff extension of a frame")

local whats = {
  [0x10] = "feedback", [0x11] = "request", [0x12] = "loop", [0x14] = "extension of a pause", [0x15] = "extension of a packet",
}
local opcodes = {
  [1] = "probe", [2] = "invalid", [3] = "announcement", [4] = "route", [5] = "table", [6] = "credit", [7] = "barrier", [8] = "check",
}

local kinds = {
  [0] = "data", [1] = "ack", [2] = "nack", [3] = "cnp", [4] = "barrier", [5] = "foreign", [6] = "pfc", [7] = "feedback", [8] = "request", [9] = "loop",
}

local f = xoff.fields
f.what = ProtoField.uint8("xoff.what", "What", base.HEX, whats)
f.class = ProtoField.uint8("xoff.class", "Class", base.DEC, nil, 0x07)
f.telemetry = ProtoField.bool("xoff.telemetry", "Telemetry requested", 8, nil, 0x08)
f.wide = ProtoField.bool("xoff.wide", "Words of 8 bytes", 8, nil, 0x80)
f.count = ProtoField.uint8("xoff.count", "Words")
f.word4 = ProtoField.uint32("xoff.word", "Word")
f.word8 = ProtoField.uint64("xoff.word8", "Word", base.HEX)
f.opcode = ProtoField.uint8("xoff.ra.opcode", "ra_hdr opcode", base.DEC, opcodes)
f.flags = ProtoField.uint8("xoff.ra.flags", "Flags", base.HEX, nil, 0xf8)
f.hop = ProtoField.uint8("xoff.ra.hop", "Hop")
f.nodes = ProtoField.uint8("xoff.ra.nodes", "Node ids")
f.sid = ProtoField.uint16("xoff.ra.sid", "Switch of origin")
f.qid = ProtoField.uint16("xoff.ra.qid", "Queue of origin")
f.rand = ProtoField.uint32("xoff.ra.rand", "Random number, or credit")
f.round = ProtoField.uint32("xoff.ra.round", "Round")
f.asked = ProtoField.uint32("xoff.ra.asked", "Requested at, us")
f.switch = ProtoField.uint16("xoff.ra.switch", "Switch")
f.enters = ProtoField.uint16("xoff.ra.in", "enters by port")
f.leaves = ProtoField.uint16("xoff.ra.out", "leaves by port")

f.kind = ProtoField.uint8("xoff.trailer.kind", "Kind of packet", base.DEC, kinds, 0xf8)
f.upper = ProtoField.uint8("xoff.trailer.upper", "Upper bits of the hosts of a foreign frame", base.HEX)
f.number = ProtoField.uint32("xoff.trailer.number", "Number, or hosts of a foreign frame")
f.size = ProtoField.uint16("xoff.trailer.size", "Size of the packet")
f.marks = ProtoField.uint8("xoff.trailer.flags", "Flags that no header has", base.HEX)
f.due = ProtoField.bool("xoff.trailer.due", "The first word is the due time", 8, nil, 0x01)

-- header shows an ra_hdr and returns its length; nil: there is none.
local function header(b, tree)
  if b:len() < 16 then return nil end
  local op, n = b(0, 1):uint(), b(3, 1):uint()
  if op < 1 or op > 8 or n > 64 or b:len() < 16 + 8 * n then return nil end
  local t = tree:add(xoff, b(0, 16 + 8 * n), "ra_hdr: " .. opcodes[op])
  t:add(f.opcode, b(0, 1))
  t:add(f.flags, b(1, 1))
  t:add(f.class, b(1, 1))
  t:add(f.hop, b(2, 1))
  t:add(f.nodes, b(3, 1))
  t:add(f.sid, b(4, 2))
  t:add(f.qid, b(6, 2))
  t:add(f.rand, b(8, 4))
  if op == 4 then
    t:add(f.asked, b(12, 3))
    t:add(f.round, b(15, 1))
  else
    t:add(f.round, b(12, 4))
  end
  for i = 0, n - 1 do
    local at = 16 + 8 * i
    t:add(f.switch, b(at, 2))
    t:add(f.enters, b(at + 2, 2))
    t:add(f.leaves, b(at + 4, 2))
  end
  return 16 + 8 * n, opcodes[op]
end

-- words shows words with their head and returns its length; nil: there are none.
local function words(b, tree)
  if b:len() < 4 or not whats[b(0, 1):uint()] then return nil end
  local wide, n = b(1, 1):uint() >= 0x80, b(2, 1):uint()
  local size = wide and 8 or 4
  if b:len() < 4 + size * n then return nil end
  local what = whats[b(0, 1):uint()]
  local t = tree:add(xoff, b(0, 4 + size * n), "xoff: " .. what)
  t:add(f.what, b(0, 1))
  t:add(f.wide, b(1, 1))
  t:add(f.telemetry, b(1, 1))
  t:add(f.class, b(1, 1))
  t:add(f.count, b(2, 1))
  for i = 0, n - 1 do
    t:add(wide and f.word8 or f.word4, b(4 + size * i, size))
  end
  return 4 + size * n, what
end

function xoff.dissector(b, pinfo, tree)
  local n, what = header(b, tree)
  if not n then n, what = words(b, tree) end
  if not n then return 0 end
  pinfo.cols.protocol = "xoff"
  pinfo.cols.info = what
  return b:len()
end

DissectorTable.get("ethertype"):add(0x88b5, xoff)

-- trailer shows what a live wire has behind a frame, from its end, and returns its length.
local function trailer(b, tree)
  local n = b:len()
  if n < 76 or b(n - 4, 4):uint() ~= 0x786f6666 or b(n - 16, 1):uint() ~= 0x16 then return 0 end
  local words = b(n - 13, 1):uint()
  local length = 16 + 8 * words
  if n < 60 + length then return 0 end
  local at = n - length
  local t = tree:add(xoff, b(at, length), "xoff: trailer")
  for i = 0, words - 1 do
    t:add(f.word8, b(at + 8 * i, 8))
  end
  t:add(f.marks, b(n - 15, 1))
  t:add(f.upper, b(n - 14, 1))
  t:add(f.count, b(n - 13, 1))
  t:add(f.size, b(n - 12, 2))
  t:add(f.due, b(n - 10, 1))
  t:add(f.kind, b(n - 9, 1))
  t:add(f.class, b(n - 9, 1))
  t:add(f.number, b(n - 8, 4))
  return length
end

local eth_type = Field.new("eth.type")
local udp_port = Field.new("udp.dstport")
local bth_opcode = Field.new("infiniband.bth.opcode")

-- After all others: what rides on a pause stands in its padding, at byte 34; what rides on
-- data and ACKs begins with "xoff", behind RETH or AETH.
function beside.dissector(b, _, tree)
  local kind = eth_type()
  if not kind then return end
  local behind = trailer(b, tree)
  if behind > 0 then b = b(0, b:len() - behind):tvb() end
  if kind.value == 0x8808 and b:len() > 38 then
    local at = 34
    if b(at, 1):uint() == 0x14 then
      words(b(at):tvb(), tree)
      return
    end
    while at + 16 <= b:len() - 4 do
      local n = header(b(at):tvb(), tree)
      if not n then return end
      at = at + n
    end
  elseif udp_port() and udp_port().value == 4791 and bth_opcode() then
    local op, at = bth_opcode().value, 14 + 20 + 8 + 12
    if op == 6 or op == 10 then at = at + 16 elseif op == 17 then at = at + 4 end
    if b:len() >= at + 8 and b(at, 4):uint() == 0x786f6666 then words(b(at + 4):tvb(), tree) end
  end
end

register_postdissector(beside)
