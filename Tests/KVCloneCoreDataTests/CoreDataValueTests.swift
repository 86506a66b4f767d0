import Foundation
import KVCloneModel
import Testing

@testable import KVCloneCoreData

/// Stored values that an attribute's type does not accept.
@Suite("values in columns")
struct CoreDataValueTests {
  private func refusal(_ stored: SQLiteValue, _ type: AttributeType) -> CoreDataValue.Refusal? {
    do throws(CoreDataValue.Refusal) {
      _ = try CoreDataValue.reading(stored, of: AttributeDescription("a", type))
      return nil
    } catch {
      return error
    }
  }

  @Test("text that cannot be had is refused for every type")
  func unreadableText() {
    for type in AttributeType.allCases {
      if case .wrongType = refusal(.unreadableText(.encoding), type) {} else { Issue.record("\(type)") }
      if case .outOfRange = refusal(.unreadableText(.length), type) {} else { Issue.record("\(type)") }
    }
  }

  @Test("decimal numbers of any text end in a number or an error, soon")
  func decimals() throws {
    let long = String(repeating: "9", count: 100_000)
    for text in ["-", "+", ".", "-.", "e", "1e", "1e+", "e5", "--1", "+-1", "1..2", "1.2.3", "1 ", "0x10", "", "1ee5"] {
      if case .wrongType = refusal(.text(text), .decimal) {} else { Issue.record("'\(text)' is a number") }
    }
    for text in [long, "1e99999999999999999999", "1e-99999999999999999999", "-.5e-3"] {
      // No text traps.
      _ = refusal(.text(text), .decimal)
    }
    if case .outOfRange = refusal(.text(long), .decimal) {} else { Issue.record("a hundred thousand digits") }
    // Numbers with more digits than a Decimal has are rejected instead of rounded; so are those beyond its range.
    for text in [
      "12345678901234567890123456789012345678901", "0.1234567890123456789012345678901234567890123",
      "340282366920938463463374607431768211456", "10e127",
    ] {
      for stored in [SQLiteValue.text(text), .blob(Array(text.utf8))] {
        if let value = try? CoreDataValue.reading(stored, of: AttributeDescription("a", .decimal))?.value {
          #expect(value == DecimalText(text)?.value.map { .decimal($0) }, "\(text)")
        } else if case .outOfRange = refusal(stored, .decimal) {
          #expect(DecimalText(text)?.value == nil, "\(text)")
        } else {
          Issue.record("\(text)")
        }
      }
    }
    for (text, number) in [("-12.50", "-12.5"), ("+7", "7"), (".5", "0.5"), ("5.", "5"), ("1E2", "100")] {
      let value = try CoreDataValue.reading(.text(text), of: AttributeDescription("a", .decimal))?.value
      #expect(value == .decimal(try #require(Decimal(string: number))), "\(text)")
    }
  }
}
