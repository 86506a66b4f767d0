import KVClone
import KVCloneExplorer
import KVCloneMerge

extension JSONWriter {
  /// Writes the members of the document of a merge or the plan of one.
  mutating func merge(_ report: MergeReport, _ names: MergeNames) {
    member("merged", report.isMerged)
    key("objects")
    mergeCount(report.objects)
    key("counts")
    beginObject()
    for (entity, count) in report.counts.sorted(by: { AttributeJSON.utf8Precedes($0.key, $1.key) }) {
      key(entity)
      mergeCount(count)
    }
    endObject()
    list("conflicts", report.shownConflicts) { $0.conflict($1, names) }
    member("conflictCount", report.conflicts.count)
    list("resolved", report.shownAnswers) { json, resolved in
      json.conflict(resolved.conflict, names)
      json.key("answer")
      json.answer(resolved.answer, names)
    }
    member("resolvedCount", report.answeredCount)
    if let estimates = report.estimates {
      list("changes", report.changes) { $0.change($1, names) }
      member("bytesWritten", estimates.bytesWritten)
      member("lockSeconds", estimates.lock.inSeconds)
    }
    reasons(report.errors, count: report.errorCount)
    member("snapshots", report.snapshots)
    member("seconds", report.duration.inSeconds)
    if report.isRepeated { member("repeated", true) }
  }

  private mutating func mergeCount(_ count: MergeCount) {
    beginObject()
    member("inserted", count.inserted)
    member("updated", count.updated)
    member("deleted", count.deleted)
    endObject()
  }

  private mutating func conflict(_ conflict: ObjectConflict, _ names: MergeNames) {
    member("kind", conflict.kind.rawValue)
    member("object", conflict.object)
    nullable("property", conflict.property)
    mergeValue("base", conflict.base, names)
    mergeValue("ours", conflict.ours, names)
    mergeValue("theirs", conflict.theirs, names)
    nullable("oursBy", conflict.oursChange) { $0.objectChange($1) }
    nullable("theirsBy", conflict.theirsChange) { $0.objectChange($1) }
    if let other = conflict.other { member("other", names.name(other)) }
    if let side = conflict.side { member("side", side.rawValue) }
    // An answer is for these values. As a text, because numbers of this size are not exact in many programs.
    member("fingerprint", String(conflict.fingerprint, radix: 16))
  }

  private mutating func objectChange(_ change: ObjectChange) {
    member("commit", change.commit)
    member("author", change.author)
    key("date")
    if let date = change.date { AttributeJSON.write(.date(date), to: &self) } else { null() }
  }

  private mutating func change(_ change: MergeChange, _ names: MergeNames) {
    member("kind", change.kind.rawValue)
    member("object", change.object)
    list("properties", change.properties) { json, property in
      json.member("name", property.name)
      json.mergeValue("base", property.base, names)
      json.mergeValue("ours", property.ours, names)
      json.mergeValue("theirs", property.theirs, names)
      json.mergeValue("result", property.result, names)
    }
  }

  private mutating func answer(_ answer: ConflictAnswer?, _ names: MergeNames) {
    switch answer {
    case nil: null()
    case .side(let side)?: string(side.rawValue)
    case .refuse?: string("refuse")
    case let answer?:
      beginObject()
      mergeValue("value", answer.value, names)
      endObject()
    }
  }

  /// A value as in NDJSON; a blob by its size and digest.
  private mutating func mergeValue(_ name: String, _ value: ObjectConflict.Value?, _ names: MergeNames) {
    key(name)
    switch value {
    case nil, .attribute(nil)?, .object(nil)?: null()
    case .attribute(.blob(let blob)?)?:
      beginObject()
      member("size", blob.byteCount)
      member("digest", names.digest(blob))
      endObject()
    case .attribute(let value?)?: AttributeJSON.write(value, to: &self)
    case .object(let id?)?: string(names.name(id))
    case .members(let ids)?:
      beginArray()
      for id in ids { string(names.name(id)) }
      endArray()
    }
  }
}
