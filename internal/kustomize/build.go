// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// building is held while the SDK runs, because it keeps the OpenAPI schema of the kustomization in global variables.
var building sync.Mutex

// ErrOutside means that a kustomization refers to a file that is neither in its folder nor below.
var ErrOutside = errors.New("files outside of the folder of a kustomization must not be read")

// outside is the SDK's message about such a file.
const outside = "is not in or below"

// Build returns the objects of the kustomization in the given folder. It is safe for concurrent use, but builds one
// kustomization at a time. The file system is only read. If rootOnly is set, a kustomization that reads files outside
// of its folder fails with ErrOutside; each base has its own folder. Symbolic links are up to the file system.
func Build(fsys filesys.FileSystem, folder string, rootOnly bool) ([]*unstructured.Unstructured, error) {
	if err := check(fsys, folder); err != nil {
		return nil, err
	}
	restrictions := types.LoadRestrictionsNone
	if rootOnly {
		restrictions = types.LoadRestrictionsRootOnly
	}
	result, err := build(fsys, folder, restrictions)
	if err != nil && strings.Contains(err.Error(), outside) {
		// The SDK's error has only the text.
		return nil, fmt.Errorf("%w: %w", ErrOutside, err)
	}
	if err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, 0, result.Size())
	for _, resource := range result.Resources() {
		raw, err := resource.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("converting %s: %w", resource.CurId(), err)
		}
		object := &unstructured.Unstructured{}
		// This decoder returns numbers in the types of unstructured objects.
		if err := utiljson.Unmarshal(raw, &object.Object); err != nil {
			return nil, fmt.Errorf("converting %s: %w", resource.CurId(), err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func build(fsys filesys.FileSystem, folder string, restrictions types.LoadRestrictions) (result resmap.ResMap, err error) {
	building.Lock()
	defer building.Unlock()
	defer func() {
		// The SDK panics if the OpenAPI schema of a kustomization is broken.
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the Kustomize SDK panicked: %v", cause)
		}
		resetSchema()
	}()
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = restrictions
	options.Reorder = krusty.ReorderOptionUnspecified
	return krusty.MakeKustomizer(options).Run(fsys, folder)
}

// defaultSchema is the version of the schema that the SDK uses unless told otherwise.
var defaultSchema = openapi.GetSchemaVersion()

// resetSchema makes the SDK forget the schema that a kustomization has set. If there is none, it keeps the current
// schema, because reading it takes time.
func resetSchema() {
	if openapi.GetSchemaVersion() != defaultSchema {
		openapi.ResetOpenAPI()
	}
}
