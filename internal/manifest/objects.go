// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/pkg/types"
)

// Inherit copies properties of a list to its item.
type Inherit func(list, item *unstructured.Unstructured)

// Objects returns the object that a decoded document describes or, if that is a list, the objects in the list and in
// nested lists. A document without content has none. The objects use the content without copying it. If inherit is nil,
// items inherit only the type from their lists.
func Objects(content any, inherit Inherit) ([]*unstructured.Unstructured, error) {
	switch content := content.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return expand(content, inherit)
	default:
		return nil, fmt.Errorf("it is not an object, but %s", Describe(content))
	}
}

// expand returns the given object or, if it is a list, its objects.
func expand(content map[string]any, inherit Inherit) ([]*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{Object: content}
	if err := checkType(content); err != nil {
		return nil, err
	}
	if !isList(object) {
		if err := checkMetadata(content); err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), nameOf(content), err)
		}
		return []*unstructured.Unstructured{object}, nil
	}

	if metadata, _ := content["metadata"].(map[string]any); metadata != nil {
		if err := checkStrings(metadata, "annotations"); err != nil {
			return nil, fmt.Errorf("%s: %w", object.GetKind(), err)
		}
	}
	items, err := itemsOf(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.GetKind(), err)
	}
	var objects []*unstructured.Unstructured
	for i, item := range items {
		found, err := expandItem(object.GroupVersionKind(), item, inherit)
		if err != nil {
			return nil, fmt.Errorf("item %d of %s: %w", i+1, object.GetKind(), err)
		}
		if inherit != nil {
			for _, item := range found {
				inherit(object, item)
			}
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// itemsOf returns an error if items is not a list: treating it as an empty list would delete the former items.
func itemsOf(content map[string]any) ([]any, error) {
	switch items := content["items"].(type) {
	case []any:
		return items, nil
	case nil:
		if _, exists := content["items"]; !exists {
			return nil, errors.New("items is missing")
		}
		return nil, nil
	default:
		return nil, fmt.Errorf("items is not a list, but %s", Describe(items))
	}
}

func expandItem(list schema.GroupVersionKind, item any, inherit Inherit) ([]*unstructured.Unstructured, error) {
	content, ok := item.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is not an object, but %s", Describe(item))
	}
	// The items of a typed list need not repeat their type.
	if kind := strings.TrimSuffix(list.Kind, "List"); kind != "" && content["kind"] == nil {
		content["kind"] = kind
		if content["apiVersion"] == nil {
			content["apiVersion"] = list.GroupVersion().String()
		}
	}
	return expand(content, inherit)
}

func isList(object *unstructured.Unstructured) bool {
	if object.GetKind() == "List" && object.GetAPIVersion() == "v1" {
		return true
	}
	items, exists := object.Object["items"]
	_, isSlice := items.([]any)
	return strings.HasSuffix(object.GetKind(), "List") && exists && (isSlice || items == nil)
}

func checkType(content map[string]any) error {
	for _, field := range []string{"apiVersion", "kind"} {
		value, ok := content[field].(string)
		switch {
		case content[field] == nil:
			return fmt.Errorf("%s of object %s is missing", field, nameOf(content))
		case !ok || value == "":
			return fmt.Errorf("%s of object %s is not a non-empty string", field, nameOf(content))
		}
	}
	apiVersion, _ := content["apiVersion"].(string)
	if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
		return fmt.Errorf("apiVersion of object %s: %w", nameOf(content), err)
	}
	return nil
}

func checkMetadata(content map[string]any) error {
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return errors.New("metadata is missing")
	}
	for _, field := range []string{"name", "namespace", "generateName"} {
		if _, ok := metadata[field].(string); !ok && metadata[field] != nil {
			return fmt.Errorf("metadata.%s is not a string, but %s", field, Describe(metadata[field]))
		}
	}
	if metadata["namespace"] == nil {
		delete(metadata, "namespace")
	}
	if name, _ := metadata["name"].(string); name == "" && !isNamedLater(metadata) {
		if metadata["generateName"] != nil {
			return errors.New("metadata.generateName is not supported, metadata.name must be set")
		}
		return errors.New("metadata.name is missing")
	}
	for _, field := range []string{"labels", "annotations"} {
		if err := checkStrings(metadata, field); err != nil {
			return err
		}
	}
	return nil
}

// hookAnnotation makes an object a hook of Argo CD.
const hookAnnotation = "argocd.argoproj.io/hook"

// isNamedLater reports whether an object is a hook of Argo CD. Such an object may get its name later; without one,
// applying it fails.
func isNamedLater(metadata map[string]any) bool {
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations[hookAnnotation] != nil
}

// checkStrings checks that a field of the metadata is a map of strings. Like for the API server, null stands for the
// empty string or for no map.
func checkStrings(metadata map[string]any, field string) error {
	if metadata[field] == nil {
		delete(metadata, field)
		return nil
	}
	entries, ok := metadata[field].(map[string]any)
	if !ok {
		return fmt.Errorf("metadata.%s is not a map, but %s", field, Describe(metadata[field]))
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		switch value := entries[key].(type) {
		case string:
		case nil:
			entries[key] = ""
		default:
			return fmt.Errorf("value of metadata.%s[%s] is not a string, but %s; put it into quotes", field, key, Describe(value))
		}
	}
	return nil
}

func nameOf(content map[string]any) string {
	metadata, _ := content["metadata"].(map[string]any)
	if name, _ := metadata["name"].(string); name != "" {
		return name
	}
	return "<no name>"
}

// Describe returns the kind of a value in plain words, such as "a map".
func Describe(value any) string {
	switch value := value.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case string:
		// The text may be confidential.
		return "text"
	default:
		return fmt.Sprintf("the value %v", value)
	}
}

// Normalize returns a copy of the given values with only string-keyed maps, slices and scalars; numbers are int64 or
// float64. Other types, such as a []string, a json.Number or a pointer to a struct, may come from a hand-written
// ToUnstructured. Renderers silently ignore, refuse, or might change them, and copying an unstructured object with them
// panics. The result is never nil. An error contains the path of a value without a JSON form, or of an integer beyond
// int64.
func Normalize(values map[string]any) (map[string]any, error) {
	normalized, err := normalizeMap(values)
	var located *locatedError
	if errors.As(err, &located) {
		return nil, fmt.Errorf("value %s %w", located.path[1:], located.err)
	}
	return normalized, err
}

// ValuesOf returns the values of the parameters of a generator; nil if it has no parameters.
func ValuesOf(parameters types.Unstructurable) map[string]any {
	if parameters == nil {
		return nil
	}
	return parameters.ToUnstructured()
}

// IsNormal reports whether Normalize would return equal values.
func IsNormal(value any) bool {
	switch value := value.(type) {
	case nil, bool, string, int64, float64:
		return true
	case map[string]any:
		for _, item := range value {
			if !IsNormal(item) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !IsNormal(item) })
	default:
		return false
	}
}

// locatedError is an error with the path of a value. The path is built only if there is an error.
type locatedError struct {
	path string
	err  error
}

func (e *locatedError) Error() string { return e.err.Error() }

// at adds the parent's path to the error.
func at(path string, err error) error {
	var located *locatedError
	if errors.As(err, &located) {
		return &locatedError{path: path + located.path, err: located.err}
	}
	return &locatedError{path: path, err: err}
}

func normalizeMap(values map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(values))
	for key, value := range values {
		normalized, err := normalizeValue(value)
		if err != nil {
			return nil, at("."+key, err)
		}
		out[key] = normalized
	}
	return out, nil
}

func normalizeValue(value any) (any, error) {
	switch value := value.(type) {
	case nil, bool, string, int64:
		return value, nil
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("is %v, which JSON does not have", value)
		}
		return value, nil
	case map[string]any:
		return normalizeMap(value)
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			normalized, err := normalizeValue(item)
			if err != nil {
				return nil, at("["+strconv.Itoa(i)+"]", err)
			}
			out[i] = normalized
		}
		return out, nil
	case json.Number:
		return fromNumber(value)
	default:
		return viaJSON(value)
	}
}

// viaJSON converts a value of another type through JSON.
func viaJSON(value any) (any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("has type %T, which has no JSON form: %w", value, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("has type %T, which has no JSON form: %w", value, err)
	}
	return normalizeValue(out)
}

// fromNumber returns an int64 or a float64.
func fromNumber(number json.Number) (any, error) {
	if strings.ContainsAny(number.String(), ".eE") {
		return number.Float64()
	}
	whole, err := number.Int64()
	if err != nil {
		return nil, fmt.Errorf("is %s, and integers are from %d to %d", number, int64(math.MinInt64), int64(math.MaxInt64))
	}
	return whole, nil
}

// IsNil reports whether a value is nil, or a nil pointer.
func IsNil(value any) bool {
	if value == nil {
		return true
	}
	pointer := reflect.ValueOf(value)
	return pointer.Kind() == reflect.Pointer && pointer.IsNil()
}

// Or returns a struct with the fields of the defaults in place of those that are zero. It must have only exported fields.
func Or[T any](value, defaults T) T {
	fields, others := reflect.ValueOf(&value).Elem(), reflect.ValueOf(defaults)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			fields.Field(i).Set(others.Field(i))
		}
	}
	return value
}

// Digest returns the SHA-256 of the JSON form of v, in lower-case hexadecimal. Map keys are sorted, struct fields have
// the order of their declaration; so a struct and a map with the same content usually differ. It fails if v has no JSON
// form.
func Digest(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding %T for its digest: %w", v, err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), nil
}

// DigestOfMap is Digest for a large map. It encodes slices of maps element by element.
func DigestOfMap(content map[string]any) (string, error) {
	sum := sha256.New()
	sum.Write([]byte("{"))
	for i, key := range slices.Sorted(maps.Keys(content)) {
		err := add(sum, i, key)
		sum.Write([]byte(":"))
		if list, ok := content[key].([]map[string]any); ok && list != nil {
			err = errors.Join(err, addList(sum, list))
		} else {
			err = errors.Join(err, add(sum, 0, content[key]))
		}
		if err != nil {
			return "", fmt.Errorf("encoding %q for a digest: %w", key, err)
		}
	}
	sum.Write([]byte("}"))
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func addList(sum hash.Hash, list []map[string]any) error {
	sum.Write([]byte("["))
	for i, element := range list {
		if err := add(sum, i, element); err != nil {
			return err
		}
	}
	sum.Write([]byte("]"))
	return nil
}

// add adds the JSON form of the list element, or map key or value, with that index.
func add(sum hash.Hash, index int, v any) error {
	raw, err := json.Marshal(v)
	if index > 0 {
		sum.Write([]byte(","))
	}
	sum.Write(raw)
	return err
}

// OwnerLabel returns the value of the owner label for an owner ID: the lower-case, unpadded base32 form of its SHA-256.
// It is 52 characters long and always a valid label value.
func OwnerLabel(ownerID string) string {
	sum := sha256.Sum256([]byte(ownerID))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// Keyed returns a digest that cannot be computed without the key, in the form of Digest: the HMAC-SHA-256 of the given
// digest. Without a key, it returns the given digest.
func Keyed(key []byte, digest string) string {
	if len(key) == 0 {
		return digest
	}
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(digest)) // never fails
	return hex.EncodeToString(sum.Sum(nil))
}

// Encode returns the YAML document for a content in the form that Decode returns. The keys of maps are sorted.
// Kubernetes encodes to JSON first and converts that. The result is the same in a third of the time, but only whole
// numbers beyond int64 have an exponent.
func Encode(content any) ([]byte, error) {
	document, err := yaml.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("encoding YAML: %w", err)
	}
	return document, nil
}
