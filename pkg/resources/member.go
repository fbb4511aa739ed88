// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/annotations"
	"github.com/component-operator/runtime/pkg/behaviors"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/feature"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// member is a resource in a set.
type member struct {
	set          *set
	index        int // in the order in which all resources that the generator has returned are applied, if all are on
	resource     Resource
	registration concepts.Registration
	// step is the step in which the object is applied. Late means that it is mutated only in that step.
	step int
	late bool
	// trails means that the object is only read, and that no later resource is written.
	trails bool
	// prototype has the Go type of the object.
	prototype client.Object
	// sources are the members that provide the data of this one.
	sources []source
	// asked means that data were extracted from the object in this pass, if it has any.
	asked bool
}

// source is a member that provides data.
type source struct {
	*member

	cell concepts.Cell
}

// applyOrder returns the wave of the object; 0 if it has none or an invalid one, which is refused later.
func (m *member) applyOrder() int {
	order, _ := annotations.Order(m.registration.Policies[types.AnnotationKeySuffixApplyOrder])
	return order
}

// object returns the object with its behaviors.
func (m *member) object() (client.Object, error) {
	object, err := m.resource.Object()
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", m.resource.Identity(), err)
	}
	m.prototype = object
	if !m.late {
		if err := m.mutate(object); err != nil {
			return nil, err
		}
		m.noteWarnings()
	}
	m.annotate(object)
	return behaviors.Attach(object, m.behaviors()...), nil
}

// mutate applies the mutations to an object without any.
func (m *member) mutate(object client.Object) error {
	return m.change(func() error {
		if amendable, ok := m.resource.(concepts.Amendable); ok {
			return amendable.Amend(object, false) //nolint:wrapcheck // it names the resource
		}
		return m.resource.Mutate(object) //nolint:wrapcheck // it names the resource
	})
}

// change calls a function that applies mutations. It refuses mutations that use undeclared data, because the object
// would not follow changes of these data.
func (m *member) change(mutate func() error) error {
	m.set.read = m.set.read[:0]
	err := mutate()
	var problems []string
	for _, cell := range m.set.read {
		if !slices.Contains(m.registration.Requires, cell) && !slices.Contains(m.registration.Uses, cell) {
			problems = append(problems, fmt.Sprintf("resource %s uses the data %q without saying so; add WithDataGuard or WithOptionalData", m.resource.Identity(), cell.Name()))
		}
	}
	if len(problems) > 0 {
		return inventory.NewRefusedError(problems...)
	}
	return orRefusal(err)
}

// orRefusal turns an error of a gate into a refusal, because it depends only on the input. Other errors stay the same.
func orRefusal(err error) error {
	var gate *feature.GateError
	var retriable types.RetriableError
	if errors.As(err, &gate) && !errors.As(err, &retriable) {
		return inventory.NewRefusedError(err.Error())
	}
	return err
}

// annotate sets the policies of the object.
func (m *member) annotate(object client.Object) {
	values := map[string]string{}
	maps.Copy(values, object.GetAnnotations())
	for suffix, value := range m.registration.Policies {
		values[m.set.annotationPrefix+suffix] = value
	}
	if m.registration.Auxiliary {
		values[m.set.annotationPrefix+types.AnnotationKeySuffixAwait] = types.AwaitNever
	}
	if len(values) > 0 {
		object.SetAnnotations(values)
	}
}

// behaviors returns the behaviors of the object.
func (m *member) behaviors() []any {
	// Resources that are off count, so switching one on does not change the others.
	all := []any{behaviors.DeleteOrder(max(-m.index, types.MinOrder))}
	if m.step > 0 {
		all = append(all, behaviors.AtStep(m.step))
	}
	if m.registration.Guarded || len(m.sources) > 0 {
		all = append(all, behaviors.Guard(m.guard))
	}
	if m.registration.Extracts || len(m.registration.Produces) > 0 {
		all = append(all, behaviors.Extract(m.extract))
	}
	if m.late {
		all = append(all, behaviors.Complete(m.complete))
	}
	if m.registration.Judged {
		all = append(all, &judge{member: m})
	}
	if m.registration.Suspendable {
		all = append(all, suspending{m})
	}
	if len(m.set.cells) > 0 {
		// Each object has this behavior, because transformers may remove some objects.
		all = append(all, behaviors.Reset(m.set.reset))
	}
	if grace := m.grace(); grace > 0 {
		all = append(all, behaviors.GracePeriod(grace))
	}
	return all
}

// guard asks whether the object may be applied.
func (m *member) guard() (reason string, err error) {
	m.set.mu.Lock()
	defer m.set.mu.Unlock()
	if err := m.checkSources(); err != nil {
		return "", err
	}
	var missing []string
	for _, cell := range m.registration.Requires {
		if !cell.IsSet() {
			missing = append(missing, fmt.Sprintf("%q", cell.Name()))
		}
	}
	if len(missing) > 0 {
		return "waiting for data " + strings.Join(missing, ", "), nil
	}
	guardable, ok := m.resource.(concepts.Guardable)
	if !ok {
		return "", nil
	}
	answer, err := guardable.GuardStatus()
	switch {
	case err != nil:
		return "", err //nolint:wrapcheck // the reconciler names the object
	case answer.Status == concepts.GuardStatusUnblocked:
		return "", nil
	case answer.Status != concepts.GuardStatusBlocked:
		return "", answer.Check()
	case answer.Reason == "":
		return "blocked by its guard", nil
	default:
		return answer.Reason, nil
	}
}

// checkSources refuses data of objects that are applied later, because the wait would never end. The order of the
// resources is not enough to prevent this.
func (m *member) checkSources() error {
	var problems []string
	for _, source := range m.sources {
		if !source.asked {
			problems = append(problems, fmt.Sprintf("%s: its data %q are those of %s, which is applied later, or removed by a transformer; must have a later apply order "+
				"(instances of types that dependents define come last in their wave)", types.IDOf(m.prototype), source.cell.Name(), types.IDOf(source.prototype)))
		}
	}
	if len(problems) > 0 {
		return inventory.NewRefusedError(problems...)
	}
	return nil
}

// extract extracts data from the object as it is in the cluster.
func (m *member) extract(object *unstructured.Unstructured) error {
	m.set.mu.Lock()
	defer m.set.mu.Unlock()
	m.asked, m.set.dirty = true, true
	extractable, ok := m.resource.(concepts.DataExtractable)
	if !ok {
		return nil
	}
	if err := m.record(object); err != nil {
		return err
	}
	return extractable.ExtractData() //nolint:wrapcheck // the reconciler names the object
}

// record passes the object in the cluster to the resource.
func (m *member) record(object *unstructured.Unstructured) error {
	recorder, ok := m.resource.(concepts.ObservationRecorder)
	if !ok {
		return nil
	}
	observed, _, err := decode(object, m.prototype, false)
	if err != nil {
		return err
	}
	return recorder.RecordObservation(observed) //nolint:wrapcheck // the reconciler names the object
}

// complete mutates the manifest of a late object.
func (m *member) complete(manifest *unstructured.Unstructured) error {
	return m.amend(manifest, func(amendable concepts.Amendable, object client.Object) error { return amendable.Amend(object, false) })
}

func (m *member) amend(manifest *unstructured.Unstructured, change func(concepts.Amendable, client.Object) error) error {
	m.set.mu.Lock()
	defer m.set.mu.Unlock()
	amendable, ok := m.resource.(concepts.Amendable)
	if !ok {
		return errors.New("the resource is not concepts.Amendable")
	}
	return edit(manifest, m.prototype, func(object client.Object) error {
		announced := maps.Clone(object.GetAnnotations())
		if err := m.change(func() error { return change(amendable, object) }); err != nil {
			return err
		}
		m.keepPolicies(object, announced)
		m.noteWarnings()
		return nil
	})
}

// keepPolicies restores the original policies after mutations have changed the annotations.
func (m *member) keepPolicies(object client.Object, announced map[string]string) {
	isPolicy := func(key, _ string) bool { return strings.HasPrefix(key, m.set.annotationPrefix) }
	values := maps.Clone(object.GetAnnotations())
	maps.DeleteFunc(values, isPolicy)
	for key, value := range announced {
		if !isPolicy(key, value) {
			continue
		}
		if values == nil {
			values = map[string]string{}
		}
		values[key] = value
	}
	object.SetAnnotations(values)
}

// noteWarnings records the warnings of the last mutation.
func (m *member) noteWarnings() {
	warning, ok := m.resource.(concepts.Warning)
	if !ok {
		return
	}
	for _, text := range warning.Warnings() {
		text = types.IDOf(m.prototype).String() + ": " + text
		if !slices.Contains(m.set.warnings, text) {
			m.set.warnings = append(m.set.warnings, text)
		}
	}
}

// read returns how an object of another owner is read. Again means that another read decides whether it is ready.
func (m *member) read(again bool) (behaviors.Read, error) {
	object, err := m.resource.Object()
	if err != nil {
		return behaviors.Read{}, fmt.Errorf("resource %s: %w", m.resource.Identity(), err)
	}
	m.prototype = object
	read := behaviors.Read{
		GroupVersionKind: object.GetObjectKind().GroupVersionKind(),
		NamespacedName:   apitypes.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
		Optional:         m.registration.Absence == concepts.AbsenceIsFine,
		Grace:            m.grace(),
		Take:             m.take,
		After:            m.trails,
	}
	if !m.registration.Auxiliary && !again {
		read.Judge = &judge{member: m}
	}
	return read, nil
}

// readSources returns the read-only members that provide data of this one, except the given ones.
func (m *member) readSources(besides []*member) []*member {
	var sources []*member
	for _, source := range m.sources {
		if source.registration.ReadOnly && !slices.Contains(besides, source.member) && !slices.Contains(sources, source.member) {
			sources = append(sources, source.member)
		}
	}
	return sources
}

// take extracts data from an object of another owner; nil if it does not exist.
func (m *member) take(object *unstructured.Unstructured) error {
	if object != nil {
		return m.extract(object)
	}
	m.set.mu.Lock()
	defer m.set.mu.Unlock()
	m.asked, m.set.dirty = true, true
	// If nothing is applied later, only the judge waits for the object.
	if m.registration.Absence == concepts.AbsenceIsFine || m.trails {
		return nil
	}
	return errors.New("it does not exist")
}

// suspending is the behavior of a member with a suspended form.
type suspending struct{ member *member }

// Suspend turns a manifest into its suspended form.
func (s suspending) Suspend(manifest *unstructured.Unstructured) error {
	return s.member.amend(manifest, concepts.Amendable.AmendSuspended)
}

// IsDeleted reports whether the object is deleted when it is suspended.
func (s suspending) IsDeleted() bool {
	s.member.set.mu.Lock()
	defer s.member.set.mu.Unlock()
	suspendable, ok := s.member.resource.(concepts.Suspendable)
	return ok && suspendable.DeleteOnSuspend()
}

// SuspensionJudge returns the judge of the suspended form.
func (s suspending) SuspensionJudge() status.Judge { return &judge{member: s.member, suspended: true} }

// grace returns how long the object may be unready before its grade counts.
func (m *member) grace() time.Duration {
	return cmp.Or(m.registration.GracePeriod, m.set.grace)
}

// decode returns a copy of an object with the Go type of a prototype. It drops fields that the Go type does not have;
// if exact is true, it also returns these.
func decode(object *unstructured.Unstructured, prototype client.Object, exact bool) (result client.Object, unknown []string, err error) {
	if _, ok := prototype.(*unstructured.Unstructured); ok {
		return object.DeepCopy(), nil, nil
	}
	result, ok := reflect.New(reflect.TypeOf(prototype).Elem()).Interface().(client.Object)
	if !ok {
		return nil, nil, fmt.Errorf("%T is not a type of objects", prototype)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, result, exact)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, problem := range strict.Errors() {
			unknown = append(unknown, problem.Error())
		}
		return result, unknown, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("decoding the object as %T: %w", prototype, err)
	}
	return result, nil, nil
}

// edit applies a function to a manifest through the Go type of a prototype. Fields that the Go type does not have stay.
// If the function changes a list with such a field, edit fails, and the manifest stays the same.
func edit(manifest *unstructured.Unstructured, prototype client.Object, change func(client.Object) error) error {
	object, unknown, err := decode(manifest, prototype, true)
	if err != nil {
		return err
	}
	var before map[string]any
	if len(unknown) > 0 {
		if before, err = contentOf(object); err != nil {
			return err
		}
	}
	if err := change(object); err != nil {
		return err
	}
	after, err := contentOf(object)
	if err != nil {
		return err
	}
	if len(unknown) == 0 {
		manifest.Object = after
		return nil
	}
	changed := manifest.DeepCopy()
	merge(changed.Object, before, after)
	_, left, err := decode(changed, prototype, true)
	if err != nil {
		return err
	}
	if lost := slices.DeleteFunc(unknown, func(field string) bool { return slices.Contains(left, field) }); len(lost) > 0 {
		return errors.New("mutations would lose what " + reflect.TypeOf(prototype).String() + " does not know: " + strings.Join(lost, ", "))
	}
	manifest.Object = changed.Object
	return nil
}

// merge applies the difference between two contents to a target.
func merge(target, before, after map[string]any) {
	for key, value := range after {
		was, had := before[key]
		if had && apiequality.Semantic.DeepEqual(was, value) {
			continue
		}
		inner, isMap := value.(map[string]any)
		from, wasMap := was.(map[string]any)
		into, hasMap := target[key].(map[string]any)
		if isMap && wasMap && hasMap {
			merge(into, from, inner)
		} else {
			target[key] = value
		}
	}
	for key := range before {
		if _, stays := after[key]; !stays {
			delete(target, key)
		}
	}
}

func contentOf(object client.Object) (map[string]any, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u.Object, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encoding the object of type %T: %w", object, err)
	}
	return content, nil
}
