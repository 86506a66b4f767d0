/// Parts of texts in UTF-8, cut between characters.
enum UTF8Part {
  /// Returns the part without an incomplete character at its end.
  static func whole(_ part: [UInt8]) -> ArraySlice<UInt8> {
    // A character has at most four bytes: its first one is among the last four of the part.
    for cut in 1...4 where cut <= part.count {
      let byte = part[part.count - cut]
      if byte & 0xC0 == 0x80 { continue }
      let length = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2
      return length > cut ? part[..<(part.count - cut)] : part[...]
    }
    return part[...]
  }

  /// Returns the number of leading bytes that continue a character before the part.
  static func continuationCount(_ part: [UInt8]) -> Int { part.prefix(3).prefix { $0 & 0xC0 == 0x80 }.count }
}
