import Foundation
import KVCloneCore
import KVCloneModel

/// Attributes violated rules of the model to lines.
extension LoadSession {
  /// The maximum number of issues of a rejected commit that are attributed to lines: further ones add little.
  private static let issueLimit = 100

  /// Returns the error of a commit that the rules of the model reject. It names the first line with a violation, but of
  /// two equal values, the later line. If links make an object invalid that existed before, their line is that of the
  /// violation.
  func rejection(of issues: [ValidationIssue], in session: borrowing Session) -> any Error {
    var reasons: [(id: ObjectID, reason: BrokenObjectFinder.Reason)] = []
    for issue in issues.prefix(Self.issueLimit) {
      guard let name = LoadName(issue.object[...]), let entity = try? session.schema.entity(String(name.entity)) else {
        continue
      }
      let id = ObjectID(rootCode: entity.rootCode, serial: name.serial)
      if session.changes.inserted.contains(id) {
        reasons.append((id, BrokenObjectFinder.Reason(issue: issue, isOfOther: false)))
      } else if let culprit = (try? LinkCulprits.find(id, issue, in: session))?.min() {
        reasons.append((culprit, BrokenObjectFinder.Reason(issue: issue, isOfOther: true)))
      }
    }
    let numbers = numbers(of: Set(reasons.flatMap { [$0.id, $0.reason.other(of: $0.id)] }))
    func line(_ id: ObjectID) -> UInt32 { numbers[id].map { labels.lines[Int($0)] } ?? .max }
    let places = reasons.filter { numbers[$0.id] != nil }.sorted { line($0.id) < line($1.id) }
    guard var chosen = places.first else { return ValidationError(issues: issues) }
    if chosen.reason.issue.kind == .uniquenessConflict, !chosen.reason.isOfOther,
      let twin = places.dropFirst().first(where: { $0.reason.issue.other == chosen.reason.issue.object })
    {
      chosen = twin
    }
    return brokenRule(chosen.id, chosen.reason, numbers, issueCount: issues.count) ?? ValidationError(issues: issues)
  }

  /// Returns the numbers of the lines that have inserted objects: a linear search, for errors only.
  func numbers(of ids: Set<ObjectID>) -> [ObjectID: UInt32] {
    guard let first = ids.min(), let last = ids.max() else { return [:] }
    var numbers: [ObjectID: UInt32] = [:]
    for number in labels.ids.indices {
      let id = labels.ids[number]
      // Hashes only the few ids in this range: up to a thousand batches search the ids of all earlier lines.
      guard id >= first, id <= last, !labels.isStored(UInt32(number)), ids.contains(id) else { continue }
      numbers[id] = UInt32(number)
      if numbers.count == ids.count { break }
    }
    return numbers
  }

  /// Returns the error of the line with a number in `numbers` that inserted an object.
  ///
  /// - Parameters:
  ///   - numbers: the numbers of objects' lines.
  ///   - issueCount: the number of issues, of which the reason is one.
  func brokenRule(
    _ id: ObjectID, _ reason: BrokenObjectFinder.Reason, _ numbers: [ObjectID: UInt32], issueCount: Int = 1
  ) -> TransferError? {
    guard let number = numbers[id] else { return nil }
    let issue = reason.issue
    var objects: [(name: String, number: UInt32)] = []
    if !reason.isOfOther {
      objects.append((issue.object, number))
      if let name = issue.other, let other = numbers[reason.other(of: id)] { objects.append((name, other)) }
    }
    var message = labelled(issue.message, objects)
    if reason.isOfOther { message = "its links make another object invalid: \(message)" }
    if issueCount > 1 { message += " (and \(issueCount - 1) more)" }
    return TransferError(
      .rejected, message, line: Int(labels.lines[Int(number)]), entity: reason.isOfOther ? nil : issue.entity,
      property: reason.isOfOther ? nil : issue.property, object: label(number), kindName: issue.kind.rawValue)
  }

  /// Replaces the store's names of objects in a message by the file's ids, because the objects will not exist.
  private func labelled(_ message: String, _ objects: [(name: String, number: UInt32)]) -> String {
    // Placeholders first: a label may look like a name.
    var message = message
    for (index, object) in objects.enumerated() {
      message = message.replacingOccurrences(of: "\(object.name) ", with: "\u{0}\(index) ")
    }
    for (index, object) in objects.enumerated() {
      message = message.replacingOccurrences(of: "\u{0}\(index) ", with: "\(label(object.number)) ")
    }
    return message
  }
}

extension BrokenObjectFinder.Reason {
  /// Returns the object with the same values, or the same object.
  func other(of id: ObjectID) -> ObjectID {
    guard let other = issue.other, let serial = LoadName(other[...])?.serial else { return id }
    return ObjectID(rootCode: id.rootCode, serial: serial)
  }
}
