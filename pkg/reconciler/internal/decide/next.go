// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Plan is the inventory that a call of Apply will save.
type Plan struct {
	// Items is the next inventory, sorted.
	Items []*inventory.Item
	// Wanted are the items of the desired objects, in the same order.
	Wanted []*inventory.Item
	// Apart are the items of the desired objects that another call applies, in the same order. Items that are not
	// recorded are not in Items.
	Apart []*inventory.Item
	// applied are the policies that the desired objects may have been applied with; empty for an object that has none.
	applied []appliedPolicies
	// prune is the policy for redundant objects without their own policy.
	prune inventory.PrunePolicy
	// SaveFirst means that the recorded inventory lacks items, or has items that it expects to be gone; the plan must
	// be saved before the first write.
	SaveFirst bool
	// NewOrphans means that the recorded inventory does not show that some items will be orphaned; the plan must be
	// saved before the first of them is orphaned.
	NewOrphans bool
}

// Next plans the next inventory; prune is the policy for redundant objects without their own policy. Objects in apart
// are applied by another call, and their items record its progress. Next does not change items of the recorded
// inventory.
func Next(wanted, apart []*prepare.Object, before []*inventory.Item, prune inventory.PrunePolicy) Plan {
	old := make(map[types.ObjectID]int, len(before))
	for i, item := range before {
		old[types.IDOf(item)] = i
	}
	p := Plan{Wanted: make([]*inventory.Item, len(wanted)), applied: make([]appliedPolicies, len(wanted)), prune: prune}
	// Recorded items keep their places, so that there is little to sort.
	next := make([]*inventory.Item, len(before), len(before)+len(wanted))
	// One allocation for all copies.
	copies := make([]inventory.Item, len(wanted))
	for i, t := range wanted {
		item := &copies[i]
		p.Wanted[i] = item
		at, known := recordedAt(t, old, before)
		if known {
			*item, next[at] = *before[at], item
			delete(old, types.IDOf(before[at]))
		} else {
			item.Name = t.Key.Name
			next = append(next, item)
		}
		recorded := *item
		item.Namespace = t.Key.Namespace
		planWanted(t, item)
		p.applied[i] = p.appliedTo(&recorded)
		again := item.Phase == inventory.PhaseScheduledForApplication && (IsUnwanted(&recorded) || IsCompleting(&recorded) || recorded.Phase == inventory.PhaseFailed)
		// A process that finds only the old record would not delete an object that this call creates.
		p.SaveFirst = p.SaveFirst || again || !known || recorded.Namespace != item.Namespace
	}
	p.takeApart(apart, old, before, next)
	for i, item := range before {
		if next[i] != nil {
			continue
		}
		// If an object is recorded twice, only one record counts; the other one must not get it deleted.
		if at, left := old[types.IDOf(item)]; left && at == i {
			next[i] = p.unwant(item)
		}
	}
	p.Items = slices.DeleteFunc(next, func(item *inventory.Item) bool { return item == nil })
	Sort(p.Items)
	return p
}

// takeApart plans the items of objects that another call applies.
func (p *Plan) takeApart(apart []*prepare.Object, old map[types.ObjectID]int, before, next []*inventory.Item) {
	p.Apart = make([]*inventory.Item, len(apart))
	for i, t := range apart {
		at, known := recordedAt(t, old, before)
		if known = known && next[at] == nil; !known {
			p.Apart[i] = &inventory.Item{TypeVersionInfo: inventory.TypeVersionInfo(t.GVK()), NameInfo: inventory.NameInfo{Namespace: t.Key.Namespace, Name: t.Key.Name}}
			continue
		}
		p.Apart[i] = p.leaveApart(t, before[at])
		next[at] = p.Apart[i]
		delete(old, types.IDOf(before[at]))
	}
}

// leaveApart plans the item of an object that only another call may apply. The policies of an on-failure hook take
// effect now, because it may never be applied again.
func (p *Plan) leaveApart(t *prepare.Object, recorded *inventory.Item) *inventory.Item {
	item := recorded.DeepCopy()
	if t.Hook != types.ApplyHookOnFailure {
		return item
	}
	item.DeletePolicy, item.PrunePolicy = t.Delete, t.Prune
	item.ApplyOrder, item.DeleteOrder, item.DeletePropagation = t.ApplyOrder, t.DeleteOrder, t.DeletePropagation
	if IsRedundant(item) {
		item.Phase, item.Status, item.Digest, item.DeletionApproved = inventory.PhaseScheduledForApplication, status.InProgressStatus, "", false
	}
	p.SaveFirst = p.SaveFirst || item.Phase != recorded.Phase || item.DeletePolicy != recorded.DeletePolicy || item.PrunePolicy != recorded.PrunePolicy
	return item
}

// unwant plans the end of an object that is not among the desired objects.
func (p *Plan) unwant(recorded *inventory.Item) *inventory.Item {
	// Whether a kept object still stays may depend on others.
	if recorded.Phase == inventory.PhaseKept || isKept(recorded, p.prune) {
		item := recorded.DeepCopy()
		RecordKept(item)
		return item
	}
	item := Unwanted(recorded, prepare.IsOrphanedOnApply)
	p.NewOrphans = p.NewOrphans || IsNewOrphan(recorded, item)
	return item
}

// Release orphans redundant objects that desired objects read: another owner takes them over.
func (p *Plan) Release(read map[types.ObjectID]bool) {
	for _, item := range p.Items {
		if read[types.IDOf(item)] && IsUnwanted(item) && item.DeletePolicy != inventory.DeletePolicyOrphan {
			item.DeletePolicy, p.NewOrphans = inventory.DeletePolicyOrphan, true
		}
	}
}

// appliedPolicies are the policies that decide what happens to an object at its end.
type appliedPolicies struct {
	delete inventory.DeletePolicy
	prune  inventory.PrunePolicy
}

// appliedTo returns the policies that a recorded object may have been applied with; empty if the object was about to be
// deleted.
func (p *Plan) appliedTo(recorded *inventory.Item) appliedPolicies {
	applied := appliedPolicies{delete: recorded.DeletePolicy, prune: cmp.Or(recorded.PrunePolicy, p.prune)}
	isHeld := recorded.Phase == inventory.PhaseScheduledForDeletion && !recorded.DeletionApproved
	switch {
	case recorded.DeletePolicy == "", IsCompleting(recorded), IsUnwanted(recorded) && !isHeld:
		return appliedPolicies{}
	case isHeld && recorded.DeletePolicy != inventory.DeletePolicyConfirmOnDelete:
		applied.delete = ""
	}
	return applied
}

// RerunFailed schedules failed objects that run to completion for another application. Their status stays Failed as the
// reason. It must be called before the plan is saved.
func (p *Plan) RerunFailed(wanted []*prepare.Object) {
	for i, t := range wanted {
		item := p.Wanted[i]
		failed := item.Phase == inventory.PhaseFailed || item.Status == status.FailedStatus && t.Update == inventory.UpdatePolicyRecreate
		if failed && observe.RunsToCompletion(t.Key.GroupKind) && item.Phase != inventory.PhaseScheduledForApplication {
			item.Phase, item.Status, p.SaveFirst = inventory.PhaseScheduledForApplication, status.FailedStatus, true
		}
	}
}

// ProtectUnwritten orphans or keeps an unwritten object if either its former or its new policies require that: a later
// call that deletes the owner or prunes the object does not know how far the writes came. It must be called before the
// plan is saved.
func (p *Plan) ProtectUnwritten(wanted []*prepare.Object) {
	for i, item := range p.Wanted {
		applied := p.applied[i]
		// The manifest of a late object may turn out to be another one.
		unwritten := item.Phase == inventory.PhaseScheduledForApplication || wanted[i].Late
		if !unwritten || applied.prune == "" {
			continue
		}
		if applied.delete != "" {
			item.DeletePolicy = prepare.Join(item.DeletePolicy, applied.delete)
			// The record must not lack a policy that protects the object.
			p.SaveFirst = p.SaveFirst || item.DeletePolicy != prepare.Join(applied.delete, applied.delete)
		}
		declared := cmp.Or(item.PrunePolicy, p.prune)
		joined := prepare.JoinPrune(declared, applied.prune)
		if joined != declared {
			item.PrunePolicy = joined
		}
		p.SaveFirst = p.SaveFirst || joined != applied.prune
	}
}

// recordedAt returns the index of an object's record. The record may lack the namespace if the type was not served when
// the record was made.
func recordedAt(t *prepare.Object, old map[types.ObjectID]int, before []*inventory.Item) (at int, known bool) {
	if at, known = old[t.Key]; known || t.Key.Namespace == "" {
		return at, known
	}
	at, known = old[types.ObjectID{GroupKind: t.Key.GroupKind, Name: t.Key.Name}]
	return at, known && !MayExist(before[at])
}

// planWanted changes the copy of a recorded item to the planned one.
func planWanted(t *prepare.Object, item *inventory.Item) {
	Describe(t, item)
	item.DeletionApproved = false
	planDigest(t, item)
}

// Describe records the type and the policies of a desired object.
func Describe(t *prepare.Object, item *inventory.Item) {
	item.TypeVersionInfo = inventory.TypeVersionInfo(t.GVK())
	item.AdoptionPolicy = t.Adoption
	item.ReconcilePolicy = t.Reconcile
	item.UpdatePolicy = t.Update
	item.DeletePolicy = t.Delete
	item.ApplyOrder = t.ApplyOrder
	item.DeleteOrder = t.DeleteOrder
	item.DeletePropagation = t.DeletePropagation
	item.ManagedTypes = t.ManagedTypes
	item.PrunePolicy = t.Prune
}

// Resolve changes the item of a late object whose manifest is complete now. It reports whether the inventory must be
// saved before the object is written.
func Resolve(t *prepare.Object, item *inventory.Item) (saveFirst bool) {
	ended := IsCompleting(item) || item.Phase == inventory.PhaseFailed
	planDigest(t, item)
	return ended && item.Phase == inventory.PhaseScheduledForApplication
}

// planDigest changes the digest of an item, and its phase if the object has to be applied.
func planDigest(t *prepare.Object, item *inventory.Item) {
	switch {
	case item.Digest == t.Digest:
	case t.Digest == prepare.DigestLate && (IsWritten(item) || IsCompleting(item) || item.Phase == inventory.PhaseFailed):
		// Only the complete manifest shows whether the object has to be applied.
	case slices.Contains(t.Former, item.Digest):
		// The former digests identify the same manifest.
		item.Digest = t.Digest
	case t.Digest == prepare.DigestOnce && wasApplied(item):
		// Even if that was under another policy.
		item.Digest = t.Digest
		if item.Phase == inventory.PhaseKept {
			item.Phase = inventory.PhaseReady
		}
	case (item.Phase == inventory.PhaseCompleted || IsDismissed(item)) && HasOtherFormat(item):
		// Digests in different formats cannot be compared. That alone must not rerun an object that has ended.
		item.Digest = t.Digest
	default:
		item.Digest = t.Digest
		item.Phase = inventory.PhaseScheduledForApplication
		item.Status = status.InProgressStatus
	}
}

// wasApplied reports whether an object was applied, and was not brought into its suspended form since.
func wasApplied(item *inventory.Item) bool {
	return (IsWritten(item) || IsCompleting(item) || item.Phase == inventory.PhaseKept) && !IsSuspended(item)
}

// Unwanted returns the item of an object that becomes redundant; nil if there is nothing left to do. Whether the object
// is orphaned or deleted is decided once, when it becomes redundant.
func Unwanted(recorded *inventory.Item, orphaned func(inventory.DeletePolicy) bool) *inventory.Item {
	if recorded.Phase == inventory.PhaseCompleted || IsDismissed(recorded) {
		return nil
	}
	item := recorded.DeepCopy()
	if item.Phase != inventory.PhaseDeleting {
		item.Phase = inventory.PhaseScheduledForDeletion
	}
	item.Digest = ""
	item.Status = status.TerminatingStatus
	item.DeletePolicy = prepare.Final(item.DeletePolicy, orphaned)
	return item
}

// isKept reports whether an object stays when it becomes redundant.
func isKept(recorded *inventory.Item, prune inventory.PrunePolicy) bool {
	ends := IsCompleting(recorded) || recorded.Phase == inventory.PhaseFailed || recorded.Phase == inventory.PhaseDeleting
	return cmp.Or(recorded.PrunePolicy, prune) == inventory.PrunePolicyKeep && !ends && !prepare.IsOrphanedOnApply(recorded.DeletePolicy)
}

// IsNewOrphan reports whether an object will be orphaned although its record does not show that: a process that finds
// the old record might delete the object when it already belongs to others. The planned item may be nil.
func IsNewOrphan(recorded, planned *inventory.Item) bool {
	return planned != nil && planned.DeletePolicy == inventory.DeletePolicyOrphan && recorded.DeletePolicy != inventory.DeletePolicyOrphan
}

// Memory is the memory of a reconciler, for all owners.
type Memory struct {
	mu     sync.Mutex
	owners map[string]memories
}

// memories is the memory of one owner.
type memories struct {
	objects map[types.ObjectID]*ObjectMemory
	// prepared are the desired objects of the last call; nil if they were not retained.
	prepared *prepare.Set
	// read are the objects that the owner has read without owning them.
	read map[observe.Name]*unstructured.Unstructured
}

// ObjectMemory is the memory of one object. It is used by one goroutine at a time.
type ObjectMemory struct {
	Corrections   Repetition
	Verifications Repetition
	Retries       Repetition
	// Deletions are failures of the API server to delete the object.
	Deletions Repetition
	// Fight names the clients and the fields they changed before the last correction, if corrections repeat; empty if
	// not known.
	Fight string
	// Consumer records whether a claim waits for its first consumer, by the UID of the claim.
	Consumer map[apitypes.UID]bool
	// Barrier is the known state of the object's deletion barrier.
	Barrier Barrier
	// Content is the type whose objects kept this namespace from being deleted the last time; nil if there were none.
	Content *meta.RESTMapping
}

// NewMemory returns an empty memory.
func NewMemory() *Memory { return &Memory{owners: map[string]memories{}} }

// For returns the memory of one owner.
func (m *Memory) For(owner string) OwnerMemory { return OwnerMemory{all: m, owner: owner} }

// OwnerMemory is the memory of one owner. It is safe for concurrent use.
type OwnerMemory struct {
	all   *Memory
	owner string
}

// Of returns the memory of an object, and creates it if there is none.
func (o OwnerMemory) Of(key types.ObjectID) *ObjectMemory {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	m := o.all.owners[o.owner]
	if m.objects == nil {
		m.objects = map[types.ObjectID]*ObjectMemory{}
		o.all.owners[o.owner] = m
	}
	if m.objects[key] == nil {
		m.objects[key] = &ObjectMemory{}
	}
	return m.objects[key]
}

// Peek returns the memory of an object; nil if there is none.
func (o OwnerMemory) Peek(key types.ObjectID) *ObjectMemory {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	return o.all.owners[o.owner].objects[key]
}

// Recall returns the desired objects of the last call; nil if they were not retained.
func (o OwnerMemory) Recall() *prepare.Set {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	return o.all.owners[o.owner].prepared
}

// Retain remembers the desired objects of a call for the next one. It drops the former ones if computed is nil or has
// no version.
func (o OwnerMemory) Retain(computed *prepare.Set) {
	if computed != nil && computed.Source.Version == "" {
		computed = nil
	}
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	m, known := o.all.owners[o.owner]
	if m.prepared = computed; known || computed != nil {
		o.all.owners[o.owner] = m
	}
}

// Recollect returns an object that the owner has read without owning it, if it was read in the given version; otherwise
// nil.
func (o OwnerMemory) Recollect(name observe.Name, version string) *unstructured.Unstructured {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	if object := o.all.owners[o.owner].read[name]; object != nil && object.GetResourceVersion() == version {
		return object
	}
	return nil
}

// Recollects remembers an object that the owner has read without owning it.
func (o OwnerMemory) Recollects(name observe.Name, object *unstructured.Unstructured) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	m := o.all.owners[o.owner]
	if m.read == nil {
		m.read = map[observe.Name]*unstructured.Unstructured{}
		o.all.owners[o.owner] = m
	}
	m.read[name] = object
}

// Disregard drops all objects that the owner has read without owning them, with the given exceptions.
func (o OwnerMemory) Disregard(except []observe.Name) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	kept := sets.New(except...)
	maps.DeleteFunc(o.all.owners[o.owner].read, func(name observe.Name, _ *unstructured.Unstructured) bool { return !kept.Has(name) })
}

// Keep drops the memory of objects that are not recorded, and all memory of the owner if nothing is recorded.
func (o OwnerMemory) Keep(recorded []*inventory.Item) {
	o.all.mu.Lock()
	defer o.all.mu.Unlock()
	objects := o.all.owners[o.owner].objects
	if len(recorded) == 0 {
		delete(o.all.owners, o.owner)
	} else if len(objects) > 0 {
		kept := Index(recorded)
		maps.DeleteFunc(objects, func(key types.ObjectID, _ *ObjectMemory) bool { return kept[key] == nil })
	}
}

// Repetition spaces out an operation that should not be repeated in quick succession.
type Repetition struct {
	Count int
	last  time.Time
}

// Pacing defines the delays of a repetition: none for the first free times, then Step, doubling up to limit. It starts
// over after a pause longer than calm and than twice the current delay.
type Pacing struct {
	free  int
	Step  time.Duration
	limit time.Duration
	calm  time.Duration
}

func (r *Repetition) delay(p Pacing) time.Duration {
	if r.Count < p.free {
		return 0
	}
	return min(p.Step<<min(r.Count-p.free, 30), p.limit)
}

// Wait returns how long to wait before the next occurrence; zero if it may happen now.
func (r *Repetition) Wait(now time.Time, p Pacing) time.Duration {
	if r.Count == 0 || now.Sub(r.last) > max(p.calm, 2*r.delay(p)) {
		r.Count = 0
		return 0
	}
	return max(0, r.last.Add(r.delay(p)).Sub(now))
}

// Happened counts an occurrence.
func (r *Repetition) Happened(now time.Time) {
	r.Count++
	r.last = now
}

// Operations that are repeated because others keep writing are delayed by up to the reapply interval, or up to these
// durations if they are longer: a short reapply interval in a manifest or component must not cause a hot loop.
const (
	leastCorrectionLimit   = 10 * time.Minute
	leastVerificationLimit = time.Minute
)

// CorrectionPacing spaces out corrections of an object.
func CorrectionPacing(reapplyInterval time.Duration) Pacing {
	return Pacing{free: 3, Step: time.Second, limit: max(reapplyInterval, leastCorrectionLimit), calm: time.Minute}
}

// VerificationPacing spaces out verifications of an object.
func VerificationPacing(reapplyInterval time.Duration) Pacing {
	return Pacing{free: 3, Step: 5 * time.Second, limit: max(reapplyInterval, leastVerificationLimit), calm: 5 * time.Minute}
}

// deletionPacing spaces out the retries that the API server is made to do after it has failed to delete an object. The
// count is kept for a day, so that the retries end.
var deletionPacing = Pacing{free: 1, Step: time.Second, limit: 5 * time.Minute, calm: 24 * time.Hour}

// maxDeletionRetries is the maximum number of retries that the API server is made to do. By then, the interval is about
// that of its own retries, and the failure is permanent.
const maxDeletionRetries = 8

// DeletionFailed reports whether to make the API server retry a failed deletion now, and how long to wait before the
// next call; zero if that is not needed. It only counts the first failure, because the API server usually retries at once.
func (m *ObjectMemory) DeletionFailed(now time.Time) (retry bool, wait time.Duration) {
	wait = m.Deletions.Wait(now, deletionPacing)
	if m.Deletions.Count > maxDeletionRetries {
		return false, 0
	}
	if wait > 0 {
		return false, wait
	}
	m.Deletions.Happened(now)
	if m.Deletions.Count <= maxDeletionRetries {
		wait = m.Deletions.Wait(now, deletionPacing)
	}
	return m.Deletions.Count > 1, wait
}

// retryPacing spaces out retries of operations that have failed.
var retryPacing = Pacing{Step: 500 * time.Millisecond, limit: 30 * time.Second, calm: 2 * time.Minute}

// Retry counts a failed operation on an object, and returns how long to wait before retrying.
func (o OwnerMemory) Retry(key types.ObjectID, now time.Time) time.Duration {
	recalled := o.Of(key)
	recalled.Retries.Wait(now, retryPacing)
	delay := recalled.Retries.delay(retryPacing)
	recalled.Retries.Happened(now)
	return delay
}

// Barrier is the state of a barrier known to this process. A process without it applies the barrier again.
type Barrier struct {
	Name     string
	Raised   time.Time // when it was last applied
	Enforced time.Time // since when it has been enforced without interruption; zero if it is not
	// Missing is the reason why there cannot be a barrier; empty if there can be one.
	Missing string
}

// Validate checks the planned inventory as a whole, and reports all problems at once.
func Validate(wanted []*prepare.Object, items []*inventory.Item, additional []inventory.TypeInfo) error {
	managed := prepare.NewTypeSet(additional, items...)
	problems := slices.Concat(holding(wanted), typesAroundInstances(wanted, items, managed), namespacesAroundContent(wanted, items))
	if len(problems) > 0 {
		return inventory.NewRefusedError(problems...)
	}
	return nil
}

// holding rejects policies that are not allowed for objects with content. Such objects cannot be purged or be hooks. A
// propagation policy would have no effect on their content, which has no owner references to them.
func holding(wanted []*prepare.Object) []string {
	var problems []string
	for _, t := range wanted {
		if !prepare.HasContent(t.Key.GroupKind) {
			continue
		}
		for what, declared := range map[string]bool{"a purge order": t.PurgeOrder != nil, "purge-on-failure": t.PurgeOnFailure, "apply-hook": t.Hook != ""} {
			if declared {
				problems = append(problems, fmt.Sprintf("%s: %s is not allowed on objects of this kind", t.Key, what))
			}
		}
		if t.DeletePropagation != "" {
			problems = append(problems, fmt.Sprintf("%s: delete propagation %s is not allowed on objects of this kind; must be %s",
				t.Key, annotations.Kebab(string(t.DeletePropagation)), types.DeletePropagationBackground))
		}
	}
	return problems
}

// typesAroundInstances requires that types are created before their instances and deleted after them.
func typesAroundInstances(wanted []*prepare.Object, items []*inventory.Item, managed prepare.TypeSet) []string {
	if len(managed.Items) == 0 {
		return nil
	}
	byKey := Index(items)
	var problems []string
	for _, t := range wanted {
		// Definitions that are recorded and no longer among the objects count, too.
		for _, key := range managed.Definitions(t.GVK()) {
			problems = append(problems, nesting(t, byKey[key], "defines its type")...)
		}
	}
	return problems
}

// namespacesAroundContent requires that namespaces are created before their content and deleted after it.
func namespacesAroundContent(wanted []*prepare.Object, items []*inventory.Item) []string {
	namespaces := map[string]*inventory.Item{}
	for _, item := range items {
		if prepare.IsNamespace(item.GroupVersionKind().GroupKind()) {
			namespaces[item.Name] = item
		}
	}
	if len(namespaces) == 0 {
		return nil
	}
	var problems []string
	for _, t := range wanted {
		if namespace := namespaces[t.Key.Namespace]; t.Key.Namespace != "" && namespace != nil {
			problems = append(problems, nesting(t, namespace, "contains it")...)
		}
	}
	return problems
}

// nesting checks that the outer object exists as long as the inner one.
func nesting(inner *prepare.Object, outer *inventory.Item, why string) []string {
	var problems []string
	if outer.Phase == inventory.PhaseScheduledForDeletion && outer.DeletePolicy == inventory.DeletePolicyOrphan {
		return nil // it stays as an orphan
	}
	if IsUnwanted(outer) {
		return []string{fmt.Sprintf("%s: cannot be kept, because %s, which %s, will be deleted", inner.Key, types.IDOf(outer), why)}
	}
	if prepare.IsOrphanedOnDelete(inner.Delete) && !prepare.IsOrphanedOnDelete(outer.DeletePolicy) {
		problems = append(problems, fmt.Sprintf("%s: delete policy %s is not allowed; the object would be deleted with %s, which %s, and has the delete policy %s",
			inner.Key, annotations.Kebab(string(inner.Delete)), types.IDOf(outer), why, annotations.Kebab(string(outer.DeletePolicy))))
	}
	if inner.ApplyOrder < outer.ApplyOrder {
		problems = append(problems, fmt.Sprintf("%s: apply order %d is not allowed; it must be at least that of %s (%d), which %s",
			inner.Key, inner.ApplyOrder, types.IDOf(outer), outer.ApplyOrder, why))
	}
	if inner.DeleteOrder > outer.DeleteOrder {
		problems = append(problems, fmt.Sprintf("%s: delete order %d is not allowed; it must be at most that of %s (%d), which %s",
			inner.Key, inner.DeleteOrder, types.IDOf(outer), outer.DeleteOrder, why))
	}
	return problems
}
