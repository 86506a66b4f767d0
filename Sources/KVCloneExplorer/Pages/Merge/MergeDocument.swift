import KVClone
import KVCloneCore
import KVCloneMerge

extension JSONWriter {
  /// Writes the members of the document of a plan.
  ///
  /// The lists have the conflicts and changes of the page; `conflictCount` is that of all open conflicts. The member
  /// `conflict` of a conflict is that of an answer.
  mutating func plan(_ content: MergeContent) {
    let plan = content.plan
    member("merged", false)
    member("canMerge", plan.canMerge)
    key("objects")
    mergeCount(plan.objects)
    key("counts")
    beginObject()
    for (entity, count) in plan.counts.sorted(by: { $0.key < $1.key }) {
      key(entity)
      mergeCount(count)
    }
    endObject()
    list("conflicts", content.conflicts) { json, item in json.conflict(item) }
    member("conflictCount", plan.conflicts.count)
    member("resolvedCount", plan.allConflicts.count - plan.conflicts.count)
    key("answers")
    beginArray()
    for answered in content.form.answers { raw(AnswerText.text(answered)) }
    endArray()
    list("stale", content.stale) { json, conflict in json.place(conflict) }
    list("changes", content.changes) { json, item in
      json.member("object", item.change.object)
      json.member("change", item.change.kind.title)
      json.list("properties", item.properties) { json, values in
        json.member("name", values.name)
        json.values(values)
        json.key("result")
        json.side(values.result ?? .absent)
      }
    }
    nullable(
      "nextChanges", content.hasMoreChanges ? "\(content.page.change + content.changes.count)" : nil)
    let end = content.page.conflict + content.conflicts.count
    nullable("nextConflicts", end < plan.allConflicts.count ? "\(end)" : nil)
    reasons(plan.issues, count: plan.issueCount)
    member("snapshots", [])
    member("bytesWritten", plan.bytesWritten)
    member("seconds", plan.lockDuration.inSeconds)
  }

  private mutating func mergeCount(_ count: MergeCount) {
    beginObject()
    member("inserted", count.inserted)
    member("updated", count.updated)
    member("deleted", count.deleted)
    endObject()
  }

  private mutating func place(_ conflict: ObjectConflict) {
    member("kind", conflict.kind.rawValue)
    member("object", conflict.object)
    nullable("property", conflict.property)
  }

  private mutating func conflict(_ item: MergeContent.Conflict) {
    place(item.conflict)
    nullable("other", item.other)
    if let values = item.values { self.values(values) }
    change("oursBy", item.conflict.oursChange)
    change("theirsBy", item.conflict.theirsChange)
    member("answered", item.answer != nil)
    key("conflict")
    raw(AnswerText.text(item.conflict))
  }

  private mutating func values(_ values: MergeContent.Values) {
    key("base")
    side(values.base)
    key("ours")
    side(values.ours)
    key("theirs")
    side(values.theirs)
  }

  private mutating func change(_ name: String, _ change: ObjectChange?) {
    nullable(name, change) { json, change in
      json.member("commit", change.commit)
      json.member("author", change.author)
      json.nullable("date", change.date?.timeText)
    }
  }

  /// A value as text; bytes as their size, and members as their names.
  private mutating func side(_ side: ObjectComparison.Side) {
    switch side {
    case .absent, .value(nil): null()
    case .value(let text?), .text(let text): string(text)
    case .bytes(let count, _):
      beginObject()
      member("size", count)
      endObject()
    case .members(let names, let count, _):
      beginObject()
      member("count", count)
      member("objects", names.map(\.text))
      endObject()
    }
  }
}

/// The rows of a plan in CSV: its conflicts, then its changes.
enum MergeTable {
  static func table(_ content: MergeContent) -> PageTable {
    var rows: [[String?]] = []
    for item in content.conflicts {
      let conflict = item.conflict
      let values = item.values
      rows.append([
        "conflict", conflict.object, conflict.kind.rawValue, conflict.property, values?.base.cell, values?.ours.cell,
        values?.theirs.cell, nil, item.answer == nil ? "open" : "answered",
      ])
    }
    for item in content.changes {
      let kind = item.change.kind.title
      if item.properties.isEmpty {
        rows.append(["change", item.change.object, kind, nil, nil, nil, nil, nil, nil])
      }
      for values in item.properties {
        rows.append([
          "change", item.change.object, kind, values.name, values.base.cell, values.ours.cell, values.theirs.cell,
          values.result?.cell, nil,
        ])
      }
    }
    return PageTable(
      columns: ["row", "object", "kind", "property", "base", "ours", "theirs", "result", "answer"], rows: rows)
  }
}
