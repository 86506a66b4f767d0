import KVCloneModel
import KVCloneRecords
import Testing

@Suite struct RecordDamageTests {
  private func error(_ bytes: [UInt8], seed: UInt64 = Example.seed) -> RecordError? {
    do {
      _ = try RecordView(bytes.span.bytes, layout: Example.layout, seed: seed).commit
      return nil
    } catch {
      return error
    }
  }

  @Test func everyFlippedBitIsFound() throws {
    let record = try Example.record()
    for bit in 0..<record.count * 8 {
      var damaged = record
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(error(damaged) == .checksumMismatch, "bit \(bit)")
    }
    for bit in 0..<64 {
      #expect(error(record, seed: Example.seed ^ 1 << UInt64(bit)) == .checksumMismatch)
    }
    for length in 0..<record.count {
      #expect(error(Array(record.prefix(length))) == (length < 24 ? .tooShort : .checksumMismatch))
    }
  }

  @Test func wrongStructureUnderARightChecksumIsFound() throws {
    let record = try Example.record()
    func error(_ change: (inout [UInt8]) -> Void) -> RecordError? {
      var bytes = record
      change(&bytes)
      bytes.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: 1) }
      return self.error(bytes, seed: 1)
    }
    #expect(error { _ in } == nil)
    #expect(error { $0[16] = 4 } == .wrongLayout)
    #expect(error { $0[18] = 5 } == .wrongLayout)
    #expect(error { $0[20] += 1 } == .wrongLength)
    #expect(error { $0.append(0) } == .wrongLength)
    #expect(error { $0[24] |= 1 << 3 } == .badFlag, "null bit of a to-one")
    #expect(error { $0[25] |= 1 << 2 } == .badFlag, "null bit beyond the fields")
    let head = Example.layout.offset(Example.field(3))
    #expect(error { $0[head] = 17 } == .badCount)
    #expect(error { $0[head] = 16 } == .tooShort)
    #expect(error { $0[head] = 1 } == .badOffset)
    #expect(error { $0[head + 6] = 2 } == .badCount, "member index without chunks")
    #expect(error { $0[head + 6] = 9 } == .badCount, "unknown flag")
    #expect(error { $0[head + 5] = 1 } == .badCount)
    let text = Example.layout.offset(Example.field(6))
    #expect(error { $0[text] = 20 } == .badOffset)
    #expect(error { $0[text] = 2 } == .badOffset, "the blob would have 17 bytes")
    #expect(error { $0[text + 3] = 0x80 } == .badFlag, "a text in a blob")
    #expect(error { $0[text + 4] = 20 } == .badOffset)
    #expect(error { $0[text + 7] = 0 } == nil, "sixteen bytes that are no blob are fine")
  }

  @Test func textThatIsNotUTF8IsAnError() throws {
    var record = try Example.record()
    let text = record.count - 16 - 3
    record[text] = 0xFF
    record.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: 1) }
    #expect(throws: RecordError.invalidUTF8) {
      let view = try RecordView(record.span.bytes, layout: Example.layout, seed: 1)
      _ = try view.string(Example.field(6))
    }
  }

  /// Reads everything that is readable; nothing but errors may result.
  private func readAll(_ bytes: [UInt8], _ layout: RecordLayout) -> Bool {
    do {
      let view = try RecordView(bytes.span.bytes, layout: layout, seed: 1)
      _ = try RecordModel(view)
      var buffer = RecordBuffer()
      buffer.load(view)
      for field in 0..<layout.fieldCount where layout.kind(field) != .toMany { buffer.setNull(field) }
      for field in layout.toManyFields { try buffer.setInlineIDs(field, []) }
      return buffer.byteCount == layout.fixedLength
    } catch {
      return error != .recordTooLarge
    }
  }

  @Test func randomBytesNeverTrap() {
    var generator = SeededGenerator(5)
    for _ in 0..<100_000 {
      let bytes = generator.bytes(Int.random(in: 0...64, using: &generator))
      #expect(error(bytes) != nil)
      _ = try? RecordView.layoutID(of: bytes.span.bytes)
      _ = try? RecordView.entityCode(of: bytes.span.bytes)
      _ = try? RecordView.commit(of: bytes.span.bytes)
    }
  }

  @Test func mutatedRecordsWithRightChecksumsNeverTrap() throws {
    var generator = SeededGenerator(6)
    for round in 0..<300 {
      let layout = randomLayout(&generator, id: 7)
      var buffer = RecordBuffer(layout: layout)
      var model = RecordModel()
      for _ in 0..<30 { try edit(&buffer, &model, &generator) }
      let good = array(buffer.bytes)
      for _ in 0..<200 {
        var bytes = good
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
          let index = Int.random(in: 8..<bytes.count, using: &generator)
          bytes[index] = Bool.random(using: &generator) ? UInt8(truncatingIfNeeded: generator.next()) : bytes[index] ^ 1
        }
        if Int.random(in: 0..<4, using: &generator) == 0 {
          bytes.removeLast(Int.random(in: 0...bytes.count - 8, using: &generator))
          if bytes.count >= 24 {
            bytes[20] = UInt8(truncatingIfNeeded: bytes.count)
            bytes[21] = UInt8(truncatingIfNeeded: bytes.count >> 8)
          }
        }
        bytes.withUnsafeMutableBytes { ValueEnvelope.seal($0, seed: 1) }
        #expect(readAll(bytes, layout), "seed 6, round \(round)")
      }
    }
  }
}
