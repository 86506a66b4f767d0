import Foundation
import KVClone
import KVCloneMerge

// The samples of the articles on branches and merging. `SampleTests` in TidyTests looks for every one of them here.

private func branches(_ store: ObjectStore, _ article: ObjectID) throws {
  let spring = try store.branches.create("spring-prices")
  try spring.write { tx in try tx.set(article, "price", 12) }
  let plan = try store.branches.planPublish("spring-prices")  // counts, changes and conflicts; nothing is written
  for conflict in plan.conflicts { print(conflict.object, conflict.property ?? "") }
  let result = try store.branches.publish("spring-prices")
  _ = result
}

private func merging(_ store: ObjectStore) throws {
  var options = MergeOptions()
  options.rules = ["Article.stock": .sum, "Article.price": .theirs]
  let plan = try store.branches.planPublish("spring-prices", options: options)
  for conflict in plan.conflicts { print(conflict.object, conflict.property ?? "", conflict.kind) }

  options.answers = plan.conflicts.map { AnsweredConflict($0, .ours) }
  let result = try store.branches.publish("spring-prices", options: options)
  _ = result
}

private func rulesOfTheModel() -> EntityDescription {
  let article = EntityDescription("Article", unique: [["code"]]) {
    AttributeDescription("code", .string, optional: false)
    AttributeDescription("price", .integer32, optional: false)
    AttributeDescription("stock", .integer32, optional: false, default: 0, userInfo: ["merge": "sum"])
    AttributeDescription("reviewed", .date, userInfo: ["merge": "max"])
  }
  return article
}

private func answersLater(_ store: ObjectStore, _ name: String, _ plan: MergePlan, _ body: Data) throws {
  let shown = try JSONEncoder().encode(plan.conflicts)  // to the browser

  let decided = try JSONDecoder().decode([AnsweredConflict].self, from: body)
  do {
    try store.branches.publish(name, options: MergeOptions(answers: decided))
  } catch let error as MergeError where error.kind == .staleAnswers {
    print("changed since:", error.conflicts.map(\.object))
  }
  _ = shown
}

private func drafts(_ store: ObjectStore, _ document: ObjectID) throws {
  var options = CloneOptions()
  options.keepsBase = true
  options.baseExpiresAt = Date(timeIntervalSinceNow: 14 * 24 * 3600)
  let draft = try store.clone([document], options: options).root
  try store.write { tx in try tx.set(draft, "title", "Second edition") }

  let plan = try store.drafts.planMerge(draft)
  if plan.canMerge { try store.drafts.merge(draft) }
}
