// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"encoding/json"
	"errors"
	"fmt"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/component-operator/runtime/pkg/types"
)

// Input is what resources are made from.
type Input struct {
	// Namespace and Name are those that the component has for its dependents.
	Namespace, Name string
	// Parameters are the parameters of the generator, usually the spec of the component. They must not be changed.
	Parameters types.Unstructurable
}

// SpecOf returns the parameters as a value of type S, or of the type that S points to. If they are of that type, as the
// spec of a component is, they are returned as they are, and must not be changed; otherwise they are decoded as the API
// server does, and unknown fields are ignored: names of fields are case-sensitive, and a whole number in a field of any
// type becomes an int64, with all its digits.
func SpecOf[S any](input Input) (S, error) {
	var spec S
	switch parameters := any(input.Parameters).(type) {
	case S:
		return parameters, nil
	case *S:
		if parameters != nil {
			return *parameters, nil
		}
	case nil:
		return spec, errors.New("there are no parameters")
	}
	text, err := json.Marshal(input.Parameters.ToUnstructured())
	if err != nil {
		return spec, fmt.Errorf("encoding the parameters: %w", err)
	}
	if err := utiljson.Unmarshal(text, &spec); err != nil {
		return spec, fmt.Errorf("decoding the parameters as %T: %w", spec, err)
	}
	return spec, nil
}
