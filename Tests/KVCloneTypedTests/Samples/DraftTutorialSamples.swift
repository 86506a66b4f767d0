import Foundation
import KVClone
import KVCloneMerge

// The program of the tutorial on drafts, so that it is compiled. `TutorialTests` in TidyTests looks for its steps here;
// it runs in `TutorialRunTests`.

/// The model of the tutorial.
func magazineModel() -> ManagedObjectModel {
  let magazine = ManagedObjectModel("Magazine") {
    EntityDescription("Article") {
      AttributeDescription("title", .string, optional: false)
      RelationshipDescription("pictures", toMany: "Picture", inverse: "article", ordered: true, deleteRule: .cascade)
      RelationshipDescription("authors", toMany: "Person", inverse: "articles")
    }
    EntityDescription("Picture") {
      AttributeDescription("caption", .string, optional: false)
      AttributeDescription("image", .binary)
      RelationshipDescription("article", toOne: "Article", inverse: "pictures")
    }
    EntityDescription("Person") {
      AttributeDescription("name", .string, optional: false)
      RelationshipDescription("articles", toMany: "Article", inverse: "authors")
    }
  }
  return magazine
}

/// The tutorial's program, with the other file's model, and a `CommandLine` and a `print` of the caller's.
func draftProgram(
  magazine: ManagedObjectModel, CommandLine: TutorialArguments, print: (Any...) -> Void
) throws {
  let path = CommandLine.arguments.dropFirst().first ?? "magazine.kvclone"
  let store = try ObjectStore.open(at: path, model: magazine)

  func picture(_ caption: String, of article: ObjectID, _ tx: inout WriteTransaction) throws -> ObjectID {
    let image = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* caption.count) })
    return try tx.insert(
      "Picture", ["caption": .string(caption), "image": .binary(image)], relationships: ["article": [article]])
  }

  let article = try store.write { tx in
    let ada = try tx.insert("Person", ["name": "Ada"])
    let article = try tx.insert("Article", ["title": "Winter"], relationships: ["authors": [ada]])
    for caption in ["Harbour", "Lighthouse", "Ridge"] { _ = try picture(caption, of: article, &tx) }
    return article
  }

  func printArticle(_ article: ObjectID) throws {
    try store.read { tx in
      let title: String = try tx.object(article).decode("title")
      let captions: [String] = try tx.members(article, "pictures").map { try tx.object($0).decode("caption") }
      print(title, captions)
    }
  }
  try printArticle(article)

  var options = CloneOptions()
  options.keepsBase = true
  let cloned = try store.clone([article], options: options)
  let draft = cloned.root
  print("draft:", cloned.objectCount, "objects,", cloned.blobsShared, "pictures shared")

  try store.write { tx in
    tx.author = "Ada"
    try tx.set(draft, "title", "Winter in Iceland")
    try tx.setMembers(draft, "pictures", try tx.members(draft, "pictures").reversed())
  }
  try store.write { tx in
    tx.author = "Ben"
    let harbour = try tx.members(draft, "pictures")[2]
    try tx.set(harbour, "caption", "Old harbour")
    _ = try picture("Aurora", of: draft, &tx)
  }
  try store.write { tx in try tx.set(article, "title", "Winter 2026") }
  try printArticle(article)

  let plan = try store.drafts.planMerge(draft)
  for conflict in plan.conflicts {
    print("conflict:", conflict.object, conflict.property ?? "")
  }

  var merge = MergeOptions()
  merge.answers = plan.conflicts.map { AnsweredConflict($0, .theirs) }
  try store.drafts.merge(draft, options: merge)
  try printArticle(article)
  let exists = try store.read { tx in try tx.object(ifExists: draft) != nil }
  print("draft exists:", exists)
  store.close()
}
