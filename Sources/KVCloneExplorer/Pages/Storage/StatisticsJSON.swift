import Foundation
package import KVClone
package import KVCloneOperations

extension JSONWriter {
  /// Writes the members of the document of `stat`; without the deep part, only what is cheap.
  package mutating func statistics(_ statistics: StoreStatistics, deep: DeepStatistics?) {
    member("store", statistics.uuid.uuidString)
    member("commit", statistics.commit)
    member("fileBytes", statistics.fileBytes)
    member("tailBytes", statistics.tailBytes)
    member("mapBytes", statistics.mapBytes)
    member("pageSize", statistics.pageSize)
    key("pages")
    beginObject()
    member("total", statistics.pageCount)
    member("used", statistics.usedPages)
    member("free", statistics.freePages.count)
    member("reusable", statistics.freePages.reusable)
    member("held", statistics.freePages.held)
    member("recent", statistics.freePages.recent)
    endObject()
    member("objects", statistics.objectCount)
    member("counts", statistics.counts)
    member("snapshots", statistics.snapshotCount)
    list("tables", statistics.tables) { json, table in
      json.member("name", table.name)
      json.member("objects", table.hasObjects)
      json.member("entries", table.entryCount)
      json.member("depth", table.depth)
      json.member("branchPages", table.branchPages)
      json.member("leafPages", table.leafPages)
      json.member("overflowPages", table.overflowPages)
      json.member("bytes", table.pageCount * statistics.pageSize)
    }
    member("readers", statistics.readerCount)
    nullable("oldestReader", statistics.oldestReader) { $0.reader($1) }
    writer(statistics.writer)
    if let deep { self.deep(deep) }
  }

  private mutating func deep(_ deep: DeepStatistics) {
    list("entities", deep.entities) { json, entity in
      json.member("name", entity.name)
      json.member("objects", entity.objectCount)
      json.member("bytes", entity.byteCount)
      json.member("meanBytes", entity.meanByteCount)
      json.member("largeValues", entity.blobCount)
    }
    list("relationships", deep.relationships) { json, relationship in
      json.member("entity", relationship.entity)
      json.member("name", relationship.name)
      json.member("hidden", relationship.isHidden)
      json.member("links", relationship.memberCount)
      json.member("inlineBytes", relationship.inlineBytes)
      json.member("lists", relationship.chunkedListCount)
      json.member("listBytes", relationship.chunkBytes)
    }
    list("largeValues", deep.blobs) { json, value in
      json.member("entity", value.entity)
      json.member("attribute", value.attribute)
      json.member("values", value.count)
      json.member("bytes", value.byteCount)
      json.member("storedBytes", value.storedBytes)
      json.member("references", value.referenceCount)
      json.member("shared", value.sharedCount)
      json.member("savedBytes", value.savedBytes)
      json.list("sizes", value.histogram) { json, size in
        json.nullable("upTo", size.upTo)
        json.member("values", size.count)
      }
    }
    list("indexes", deep.indexes) { json, index in
      json.member("entity", index.entity)
      json.member("name", index.name)
      json.member("unique", index.isUnique)
      json.member("entries", index.entryCount)
      json.member("bytes", index.byteCount)
    }
    list("previousStates", deep.preimages) { json, area in
      json.member("of", area.name)
      json.member("entries", area.count)
      json.member("bytes", area.byteCount)
    }
    list("fill", deep.pageUtilization) { json, fill in
      json.member("name", fill.name)
      json.member("pages", fill.pageCount)
      json.member("contentBytes", fill.contentBytes)
      json.member("overheadBytes", fill.overheadBytes)
      json.member("unusedBytes", fill.unusedBytes)
      json.member("compactedPages", fill.compactedPageCount)
    }
    member("fragmentation", deep.fragmentation)
    member("compactionSavings", deep.compactionSavings)
    list("areas", deep.spaceUsage) { json, area in
      json.member("kind", area.kind.rawValue)
      json.member("name", area.name)
      json.member("count", area.count)
      json.member("bytes", area.byteCount)
    }
  }

  /// The member `writer`: the holder of the write lock, or null.
  package mutating func writer(_ writer: WriteLockHolder?) {
    nullable("writer", writer) { json, writer in
      json.member("pid", Int(writer.processID))
      json.member("process", writer.processName)
      json.member("label", writer.label)
      json.member("since", writer.since.formatted(.iso8601))
      json.member("seconds", writer.age.inSeconds)
      json.member("self", writer.isThisProcess)
    }
  }

  /// Writes the members of one reader, in the format of `readers`.
  package mutating func reader(_ reader: ActiveReader) {
    member("pid", Int(reader.processID))
    nullable("thread", reader.thread)
    member("owner", reader.owner)
    member("self", reader.isThisProcess)
    member("kind", reader.kind.rawValue)
    key("age")
    if let age = reader.age { double(age.inSeconds) } else { null() }
    member("lag", reader.lag)
    nullable("retainedBytes", reader.retainedBytes)
    member("stale", reader.isStale)
  }

  /// Writes the members of the document of `check`.
  package mutating func check(_ report: CheckReport) {
    member("ok", report.issues.isEmpty)
    member("objects", report.objectCount)
    member("pages", report.pageCount)
    damages(report.issues)
    member("truncated", report.isTruncated)
  }

  /// Writes issues as the member "damages".
  package mutating func damages(_ damages: [IntegrityIssue]) {
    list("damages", damages) { json, damage in
      json.finding(
        damage.kind.rawValue, object: damage.object, property: damage.property, page: damage.page,
        message: damage.message)
      json.member("derived", damage.isDerived)
      if let branch = damage.branch { json.member("branch", branch) }
    }
  }
}
