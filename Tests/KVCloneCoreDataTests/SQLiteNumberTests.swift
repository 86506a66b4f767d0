import Foundation
import KVCloneTestSupport
import Testing

@testable import KVCloneCoreData

/// Conversions between numbers and texts, compared with SQLite's own.
@Suite("SQLite's conversions", .enabled(if: Python.hasSQLite, "there is no python3 with its sqlite3 module"))
struct SQLiteNumberTests {
  /// Prints a line for each line of the input: for a text, the whole number and the bits of the floating-point one; for
  /// a number's bits, the text.
  private static let script = """
    import sqlite3, struct, sys
    db = sqlite3.connect(':memory:')
    out = []
    for line in open(sys.argv[1]):
        kind, hexed = line[0], line[1:].strip()
        if kind == 't':
            i, r = db.execute('select cast(? as integer), cast(? as real)', (bytes.fromhex(hexed).decode(),) * 2).fetchone()
            out.append(f"{i} {struct.pack('>d', r).hex()}")
        else:
            number = struct.unpack('>d', bytes.fromhex(hexed))[0]
            out.append(db.execute('select cast(? as text)', (number,)).fetchone()[0])
    open(sys.argv[2], 'w').write(chr(10).join(out))
    """

  @Test("are the library's", arguments: SQLiteSeeds.seeds)
  func conversions(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let characters = Array("0123456789012345678901234567890123456789+-..eE x\t")
    let texts = (0..<600).map { _ in
      String((0..<generator.below(14)).map { _ in characters[generator.below(characters.count)] })
    }
    // As many digits as are written, so that both round to the same value.
    let numbers = (0..<300).map { _ in
      Double("\(generator.below(2_000_000) - 1_000_000)e\(generator.below(60) - 30)") ?? 0
    }
    func hex(_ number: Double) -> String {
      withUnsafeBytes(of: number.bitPattern.bigEndian) {
        $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
      }
    }
    let lines =
      texts.map { "t" + $0.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
      + numbers.map { "n" + hex($0) }
    let folder = try TemporaryFolder()
    try folder.write(lines.joined(separator: "\n"), to: "in")
    try folder.write(Self.script, to: "convert.py")
    #expect(try Python.run([folder.path + "/convert.py", folder.path + "/in", folder.path + "/out"]) == 0)
    let answers = try String(contentsOfFile: folder.path + "/out", encoding: .utf8).components(separatedBy: "\n")
    try #require(answers.count == lines.count)
    for (text, answer) in zip(texts, answers) {
      let (whole, real) = (try SQLiteNumber.integer(.text(text)), try SQLiteNumber.real(.text(text)))
      // For a sign alone, SQLite returns a zero with that sign, which is the same number.
      let wanted = answer.replacing(" " + hex(-0.0), with: " " + hex(0))
      #expect("\(whole.number) \(hex(real.number == 0 ? 0 : real.number))" == wanted, "'\(text)', seed \(seed)")
      #expect(try SQLiteNumber.integer(.blob(Array(text.utf8))).number == whole.number)
    }
    for (number, answer) in zip(numbers, answers.dropFirst(texts.count)) {
      #expect(SQLiteNumber.text(number) == answer, "\(number), seed \(seed)")
    }
  }
}
