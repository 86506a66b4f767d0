import Foundation
import KVClone
import KVCloneMerge

/// Answers as JSON in URLs and forms.
///
/// It is the JSON of `AnsweredConflict` without the values of the conflict: these can be long, and its fingerprint
/// identifies them.
enum AnswerText {
  /// The conflict without values and changes.
  private static func reference(_ conflict: ObjectConflict) -> ObjectConflict {
    ObjectConflict(
      conflict.kind, conflict.id, entity: conflict.entity, property: conflict.property, other: conflict.other,
      fingerprint: conflict.fingerprint)
  }

  private static let infinities = ("Infinity", "-Infinity", "NaN")

  static func text(_ conflict: ObjectConflict) -> String { encode(reference(conflict)) }

  static func text(_ answered: AnsweredConflict) -> String {
    encode(AnsweredConflict(reference(answered.conflict), answered.answer))
  }

  private static func encode(_ value: some Encodable) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: infinities.0, negativeInfinity: infinities.1, nan: infinities.2)
    // Nothing else in these values can fail.
    return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// - Throws: ``ExplorerError`` if the text is not the JSON of a value of the type.
  static func decode<Value: Decodable>(_ text: String, as type: Value.Type) throws(ExplorerError) -> Value {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: infinities.0, negativeInfinity: infinities.1, nan: infinities.2)
    do {
      return try decoder.decode(type, from: Data(text.utf8))
    } catch {
      throw ExplorerError(
        .badRequest, "an answer is not the JSON of a conflict with its answer; open the plan again, and choose there")
    }
  }
}

extension ObjectConflict {
  /// Whether two conflicts are the same question, whatever the values are.
  func isSame(as other: ObjectConflict) -> Bool {
    id == other.id && kind == other.kind && property == other.property
      && (kind == .takenAlong || self.other == other.other)
  }
}
