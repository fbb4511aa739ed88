// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/types"
)

// set contains the resources of one component. Their functions are called one at a time, by the pass and by watches
// that judge objects.
type set struct {
	mu sync.Mutex

	members []*member
	// off are resources whose gates are off.
	off []*member
	// cells are all extracted data.
	cells []concepts.Cell
	// read are the data that mutations have used since it was last cleared.
	read []concepts.Cell
	// dirty means that data were requested from members since the last reset.
	dirty bool
	// owns means that some resources are written, if they are on.
	owns bool
	// varies means that the set must not be reused, custom that the statuses of some members depend on the input.
	varies, custom bool
	// input identifies the input, if custom.
	input            string
	annotationPrefix string
	grace            time.Duration
	warnings         []string
}

// newSet returns the set of the resources whose gates are on. It fails if they do not fit together; the error lists all
// problems.
func newSet(resources []Resource) (*set, error) {
	s := &set{}
	var problems []error
	for i, resource := range resources {
		if manifest.IsNil(resource) {
			problems = append(problems, fmt.Errorf("resource %d is nil", i))
			continue
		}
		s.members = append(s.members, &member{set: s, resource: resource, registration: registrationOf(resource)})
	}
	problems = append(problems, s.arrange()...)
	problems = append(problems, s.checkData()...)
	if err := errors.Join(problems...); err != nil {
		var retriable types.RetriableError
		if errors.As(err, &retriable) {
			return nil, err
		}
		return nil, inventory.NewRefusedError(strings.Split(err.Error(), "\n")...)
	}
	s.assignSteps()
	for _, m := range s.members {
		s.varies = s.varies || m.registration.MayVary
		s.custom = s.custom || m.registration.Custom
	}
	return s, s.checkAmendable()
}

// arrange sorts the members by apply order and removes those that are off. The remaining ones must have different
// identities.
func (s *set) arrange() []error {
	slices.SortStableFunc(s.members, func(a, b *member) int { return cmp.Compare(a.applyOrder(), b.applyOrder()) })
	var problems []error
	var on []*member
	seen := map[string]bool{}
	for i, m := range s.members {
		identity := m.resource.Identity()
		m.index = i
		s.owns = s.owns || !m.registration.ReadOnly
		isOn, err := feature.IsOn(m.registration.Gate)
		if err != nil {
			problems = append(problems, fmt.Errorf("resource %s: %w", identity, err))
		}
		if !isOn {
			s.off = append(s.off, m)
			continue
		}
		on = append(on, m)
		if seen[identity] {
			problems = append(problems, fmt.Errorf("resource %s is returned more than once", identity))
		}
		seen[identity] = true
	}
	s.members = on
	return problems
}

// checkData checks that data are extracted before they are used, and that different data have different names. Optional
// data need not be extracted, because the resource that provides them may be off.
func (s *set) checkData() []error {
	var problems []error
	all, names := map[concepts.Cell]bool{}, map[string]concepts.Cell{}
	for _, m := range s.members {
		for _, cell := range m.registration.Produces {
			if other, ok := names[cell.Name()]; ok && other != cell {
				problems = append(problems, fmt.Errorf("resource %s: the name %q is used for different data; each must have its own name", m.resource.Identity(), cell.Name()))
			}
			if !all[cell] {
				s.cells = append(s.cells, cell)
			}
			if observable, ok := cell.(interface{ OnRead(f func()) }); ok {
				observable.OnRead(func() { s.read = append(s.read, cell) })
			}
			all[cell], names[cell.Name()] = true, cell
		}
	}
	produced := map[concepts.Cell]*member{}
	for _, m := range s.members {
		r := m.registration
		for i, cell := range slices.Concat(r.Requires, r.Uses) {
			required := i < len(r.Requires)
			switch {
			case manifest.IsNil(cell):
				problems = append(problems, fmt.Errorf("resource %s: data must not be nil", m.resource.Identity()))
			case produced[cell] != nil:
				m.sources = append(m.sources, source{member: produced[cell], cell: cell})
			case required || all[cell]:
				problems = append(problems, fmt.Errorf("resource %s uses the data %q, %s", m.resource.Identity(), cell.Name(), s.whyMissing(cell)))
			}
		}
		for _, cell := range r.Produces {
			produced[cell] = m
		}
	}
	return problems
}

// whyMissing returns why no earlier resource extracts the data.
func (s *set) whyMissing(cell concepts.Cell) string {
	produces := func(m *member) bool { return slices.Contains(m.registration.Produces, cell) }
	if i := slices.IndexFunc(s.members, produces); i >= 0 {
		return fmt.Sprintf("which resource %s extracts; that must be another one, which is returned earlier and has no later apply order", s.members[i].resource.Identity())
	}
	if i := slices.IndexFunc(s.off, produces); i >= 0 {
		return fmt.Sprintf("which resource %s extracts, and that is off; use WithOptionalData, or give both the same gate", s.off[i].resource.Identity())
	}
	return "which no resource extracts"
}

// checkAmendable refuses resources that must be mutated after their object was created, but are not Amendable.
func (s *set) checkAmendable() error {
	var problems []string
	for _, m := range s.members {
		if _, ok := m.resource.(concepts.Amendable); ok || m.registration.ReadOnly {
			continue
		}
		if m.late || m.registration.Suspendable {
			problems = append(problems, fmt.Sprintf("resource %s (%T) is suspendable, or comes after one whose data are extracted: it must implement concepts.Amendable",
				m.resource.Identity(), m.resource))
		}
	}
	if len(problems) > 0 {
		return inventory.NewRefusedError(problems...)
	}
	return nil
}

// assignSteps assigns a step to each member, and decides which members are mutated late. A member begins a step if it
// is guarded, requires data, follows a blocking read-only object, or may use data of the previous step. Read-only
// objects are read before the step begins.
func (s *set) assignSteps() {
	step, begun := 0, false           // the present step, and whether it has members
	blocked := false                  // an object without which nothing goes on is read before the next member
	fresh := map[concepts.Cell]bool{} // the data that are extracted from members of the step
	// Functions extract data that are in no cell, from members of an earlier step and of this step.
	closures, freshClosures := false, false
	for _, m := range s.members {
		r := m.registration
		if r.ReadOnly {
			closures = closures || r.Extracts
			blocked = blocked || r.Absence == concepts.AbsenceBlocks
			continue
		}
		uses, anyClosures := slices.Concat(r.Requires, r.Uses), closures || freshClosures
		m.late = len(uses) > 0 || anyClosures
		awaits := r.Guarded || len(r.Requires) > 0 || slices.ContainsFunc(uses, func(cell concepts.Cell) bool { return fresh[cell] })
		if begun && (awaits || blocked || freshClosures) {
			step++
			clear(fresh)
			closures, freshClosures = anyClosures, false
		}
		m.step, begun, blocked = step, true, false
		for _, cell := range r.Produces {
			fresh[cell] = true
		}
		freshClosures = freshClosures || r.Extracts
	}
}

// objects returns the objects of all written members, with their behaviors. Read-only objects are read before the next
// written one.
func (s *set) objects() ([]client.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var objects []client.Object
	var reads []*member
	for _, m := range s.members {
		if m.registration.ReadOnly {
			reads = append(reads, m)
			continue
		}
		object, err := m.object()
		if err != nil {
			return nil, err
		}
		if object, err = withReads(object, reads, false); err != nil {
			return nil, err
		}
		// Objects of managed types are applied later than others of their wave, so each user also reads what it needs.
		if object, err = withReads(object, m.readSources(reads), true); err != nil {
			return nil, err
		}
		objects, reads = append(objects, object), nil
	}
	if len(objects) == 0 {
		if len(reads) > 0 && !s.owns {
			return nil, inventory.NewRefusedError("all resources are read-only; at least one must be an object of the component")
		}
		return nil, nil
	}
	last := len(objects) - 1
	for _, m := range reads {
		m.trails = true
	}
	var err error
	if objects[last], err = withReads(objects[last], reads, false); err != nil {
		return nil, err
	}
	return objects, nil
}

// withReads attaches reads to an object. Again means that other objects read the members as well, and await them.
func withReads(object client.Object, members []*member, again bool) (client.Object, error) {
	if len(members) == 0 {
		return object, nil
	}
	var reads behaviors.Reads
	if reading, ok := behaviors.Of[behaviors.Reading](object); ok {
		reads = slices.Clone(reading.Reads())
	}
	for _, m := range members {
		read, err := m.read(again)
		if err != nil {
			return nil, err
		}
		reads = append(reads, read)
	}
	return behaviors.Attach(object, reads), nil
}

// reset clears all data, at the beginning of a pass.
func (s *set) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.dirty {
		return
	}
	s.dirty = false
	for _, m := range s.members {
		m.asked = false
		for _, cell := range m.registration.Produces {
			cell.Clear()
		}
	}
}

// Warnings returns the warnings of all mutations so far.
func (s *set) Warnings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.warnings)
}
