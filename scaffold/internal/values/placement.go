// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package values

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
)

// A Renderer renders a chart with values that are laid over its defaults.
type Renderer func(values map[string]any) ([]*unstructured.Unstructured, error)

// Kubernetes types that values get if templates put them into a field of that type: as a whole, or as an element of a
// list.
var (
	wholes = []reflect.Type{
		reflect.TypeFor[map[string]string](), reflect.TypeFor[corev1.Affinity](), reflect.TypeFor[corev1.PodSecurityContext](),
		reflect.TypeFor[corev1.Probe](), reflect.TypeFor[corev1.ResourceRequirements](), reflect.TypeFor[corev1.SecurityContext](), percentage,
	}
	elements = []reflect.Type{
		reflect.TypeFor[corev1.EnvFromSource](), reflect.TypeFor[corev1.EnvVar](), reflect.TypeFor[corev1.LocalObjectReference](),
		reflect.TypeFor[corev1.Toleration](), reflect.TypeFor[corev1.TopologySpreadConstraint](),
	}
	// listed are types of strings, with their values.
	// The empty one means the default of Kubernetes.
	listed = map[reflect.Type][]string{
		reflect.TypeFor[corev1.PullPolicy](): {"", string(corev1.PullAlways), string(corev1.PullIfNotPresent), string(corev1.PullNever)},
		reflect.TypeFor[corev1.ServiceType](): {
			"", string(corev1.ServiceTypeClusterIP), string(corev1.ServiceTypeExternalName), string(corev1.ServiceTypeLoadBalancer), string(corev1.ServiceTypeNodePort),
		},
	}
	// port stands for an integer that is the number of a port.
	port = reflect.TypeFor[int32]()
	// percentage is a number or a percentage.
	percentage = reflect.TypeFor[intstr.IntOrString]()
	// rules are the markers of types that need some.
	rules = map[reflect.Type][]string{percentage: {int32Only}}
)

// ports are the names of fields that have the number of a port.
var ports = map[string]reflect.Type{"containerPort": port, "port": port, "targetPort": port}

// A probe is a value with a mark, which shows where templates put the value.
type probe struct {
	path  string
	value any
	mark  string
	isSet bool // the mark is in an element of a list
	// places are the types of the fields where the mark was found; nil for other places.
	places []reflect.Type
}

// maxRenderings limits how often a chart is rendered to find the places of its values.
const maxRenderings = 120

// A prober finds the Kubernetes types of values.
type prober struct {
	render Renderer
	probes map[string]*probe // by their marks
	left   int
}

// place returns the Kubernetes types of values, by their paths, and sets On of the given types. It sets values to marked
// ones, renders the chart, and looks for the marks in the manifests. A value has a type if all marks are in fields of
// that type.
//
// Helm merges objects of users into the default, where null removes a key. A Go struct leaves out what is empty, and may
// require fields; and the API server drops null from a map with a type. So objects have types only if the default is empty.
func place(source *source, types *Types, render Renderer) map[string]reflect.Type {
	placed := map[string]reflect.Type{}
	if render == nil {
		return placed
	}
	types.switchOn(render)
	p := &prober{render: render, probes: map[string]*probe{}, left: maxRenderings}
	p.collect(source.defaults, "")
	all := slices.SortedFunc(maps.Values(p.probes), func(a, b *probe) int { return strings.Compare(a.path, b.path) })
	// Much is rendered only if something is switched on.
	for _, base := range []map[string]any{types.Sample, merge(types.On, types.Sample)} {
		if _, err := render(base); err == nil {
			p.try(base, all)
			// One of several values may win.
			p.try(base, slices.DeleteFunc(slices.Clone(all), func(probe *probe) bool { return len(probe.places) > 0 }))
		}
	}
	for _, probe := range all {
		t, value := probe.found(), valueOf(source.defaults, probe.path)
		if fields, _ := value.(map[string]any); t == nil || len(fields) > 0 {
			continue
		}
		if fits(value, t) {
			placed[probe.path] = t
		}
	}
	return placed
}

func valueOf(values map[string]any, path string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(values, strings.Split(path, separator)...)
	return value
}

// collect makes probes for the values whose default has the shape of a Kubernetes type.
func (p *prober) collect(values map[string]any, path string) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		full := within(path, key)
		if fields, isMap := values[key].(map[string]any); isMap && !isData(key, fields) {
			p.collect(fields, full)
			continue
		}
		if made := probeOf(key, values[key], len(p.probes)); made != nil {
			made.path = full
			p.probes[made.mark] = made
		}
	}
}

// numeric matches the names of values that may be a port, or a number or percentage.
var numeric = regexp.MustCompile(`(?i)(port|available|surge)$`)

// probeOf returns a probe for a value with this default; nil if it does not have the shape of a Kubernetes type.
func probeOf(key string, value any, number int) *probe {
	mark := fmt.Sprintf("probe-%05d", number)
	marked := map[string]any{mark: "1", mark + asNumber: 1}
	if _, isNumber := value.(json.Number); numeric.MatchString(key) && (isNumber || value == nil || value == "") {
		mark = strconv.Itoa(firstMark + number)
		return &probe{mark: mark, value: json.Number(mark)}
	}
	switch value := value.(type) {
	case nil:
		return &probe{mark: mark, value: marked}
	case map[string]any:
		return &probe{mark: mark, value: merge(value, marked)}
	case []any:
		if len(value) == 0 || common(value) == freeMap {
			return &probe{mark: mark, value: append(slices.Clone(value), map[string]any{mark: "1"}), isSet: true}
		}
	case string:
		for _, values := range listed {
			if value != "" && slices.Contains(values, value) {
				return &probe{mark: mark, value: mark}
			}
		}
	}
	return nil
}

const (
	// firstMark is the first number that is a mark.
	firstMark = 20000
	// asNumber ends the key of a number beside a mark. If the templates make a text of it, users may give any type.
	asNumber = "-number"
)

// try renders the chart with all probes. If that fails, it tries each half of them.
func (p *prober) try(base map[string]any, probes []*probe) {
	if p.left == 0 || len(probes) == 0 {
		return
	}
	p.left--
	values := base
	for _, probe := range probes {
		values = merge(values, At(strings.Split(probe.path, separator), probe.value))
	}
	objects, err := p.render(values)
	switch {
	case err == nil:
		for _, object := range objects {
			var t reflect.Type
			if known, err := clientgoscheme.Scheme.New(object.GroupVersionKind()); err == nil {
				t = reflect.TypeOf(known)
			}
			p.look(object.Object, t, "")
		}
	case len(probes) > 1:
		half := len(probes) / 2
		p.try(base, probes[:half])
		p.try(base, probes[half:])
	default:
		// Labels and annotations are refused if they have a number.
		if fields, _ := probes[0].value.(map[string]any); fields[probes[0].mark+asNumber] != nil {
			delete(fields, probes[0].mark+asNumber)
			p.try(base, probes)
		}
	}
}

var markPattern = regexp.MustCompile(`probe-[0-9]{5}`)

// look looks for marks in the value of a field. The type is nil if it is unknown.
func (p *prober) look(value any, t reflect.Type, field string) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := value.(type) {
	case map[string]any:
		p.lookBelow(value, t)
	case []any:
		var of reflect.Type
		if t != nil && t.Kind() == reflect.Slice {
			of = t.Elem()
		}
		for _, element := range value {
			p.look(element, of, field)
		}
	case string:
		if found := p.probes[value]; found != nil && listed[t] != nil {
			found.places = append(found.places, t)
		} else {
			p.spoil(value)
		}
	default:
		if found := p.probes[fmt.Sprint(value)]; found != nil && (ports[field] != nil || t == percentage) {
			found.places = append(found.places, cmp.Or(ports[field], t))
		}
	}
}

// lookBelow looks for marks in an object.
func (p *prober) lookBelow(fields map[string]any, t reflect.Type) {
	for key, below := range fields {
		if found := p.probes[key]; found != nil {
			place := t
			if _, isText := fields[key+asNumber].(string); isText {
				place = nil
			}
			found.places = append(found.places, place)
		} else if p.probes[strings.TrimSuffix(key, asNumber)] == nil {
			p.spoil(key)
			p.look(below, fieldOf(t, key), key)
		}
	}
}

// spoil notes that marks are in a text.
func (p *prober) spoil(text string) {
	for _, mark := range markPattern.FindAllString(text, -1) {
		if found := p.probes[mark]; found != nil {
			found.places = append(found.places, nil)
		}
	}
}

// fieldOf returns the type of a field by its JSON name; nil if it is unknown.
func fieldOf(t reflect.Type, name string) reflect.Type {
	switch {
	case t == nil:
	case t.Kind() == reflect.Map:
		return t.Elem()
	case t.Kind() == reflect.Struct:
		for field := range t.Fields() {
			tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			if tag == name {
				return field.Type
			}
			if tag == "" && strings.Contains(options, "inline") {
				if below := fieldOf(field.Type, name); below != nil {
					return below
				}
			}
		}
	}
	return nil
}

// found returns the type that a value may have; nil if there is none.
func (p *probe) found() reflect.Type {
	if len(p.places) == 0 {
		return nil
	}
	t := p.places[0]
	switch {
	case t == nil, slices.ContainsFunc(p.places, func(other reflect.Type) bool { return other != t }):
		return nil
	case p.isSet && slices.Contains(elements, t):
		return reflect.SliceOf(t)
	case !p.isSet && (slices.Contains(wholes, t) || listed[t] != nil || t == port):
		return t
	default:
		return nil
	}
}

// fits reports whether a default has a type.
func fits(value any, t reflect.Type) bool {
	text, err := json.Marshal(value)
	if err != nil {
		return false
	}
	strict, err := kjson.UnmarshalStrict(text, reflect.New(t).Interface())
	return err == nil && len(strict) == 0
}
