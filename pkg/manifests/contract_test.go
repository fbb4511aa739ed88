// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"context"
	"io/fs"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// What follows does not compile if a signature changes that existing operators rely on.
var (
	_ func(map[string]any, map[string]any)                                 = manifests.MergeMapInto
	_ func(map[string]any, map[string]any) map[string]any                  = manifests.MergeMaps
	_ func() (*manifests.DummyGenerator, error)                            = manifests.NewDummyGenerator
	_ func(manifests.Generator) manifests.TransformableGenerator           = manifests.NewGenerator
	_ func(fs.FS, string) (*manifests.TemplateParameterTransformer, error) = manifests.NewTemplateParameterTransformer

	_ func([]manifests.KustomizePatch, []manifests.KustomizeImage) (*manifests.KustomizeObjectTransformer, error) = manifests.NewKustomizeObjectTransformer

	_ func(map[string]string, types.Selector[client.Object]) (*manifests.SubstitutionObjectTransformer, error) = manifests.NewSubstitutionObjectTransformer

	_ manifests.Generator            = &manifests.DummyGenerator{}
	_ manifests.ObjectTransformer    = &manifests.KustomizeObjectTransformer{}
	_ manifests.ObjectTransformer    = &manifests.SubstitutionObjectTransformer{}
	_ manifests.ParameterTransformer = &manifests.TemplateParameterTransformer{}

	_ = manifests.KustomizeImage{Name: "", NewName: "", NewTag: "", Digest: ""}
	_ = manifests.KustomizePatch{Patch: "", Target: &manifests.KustomizeSelector{}}
	_ = manifests.KustomizeSelector{Group: "", Version: "", Kind: "", Name: "", Namespace: "", AnnotationSelector: "", LabelSelector: ""}
)

// An interface that gains a method is not satisfied by existing operators any more.
var (
	_ manifests.Decryptor = (interface {
		Decrypt(input []byte, path string) ([]byte, error)
	})(nil)
	_ manifests.Generator = (interface {
		Generate(ctx context.Context, namespace string, name string, parameters types.Unstructurable) ([]client.Object, error)
	})(nil)
	_ manifests.ObjectTransformer = (interface {
		TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error)
	})(nil)
	_ manifests.ParameterTransformer = (interface {
		TransformParameters(namespace string, name string, parameters types.Unstructurable) (types.Unstructurable, error)
	})(nil)
	_ manifests.TransformableGenerator = (interface {
		manifests.Generator
		WithParameterTransformer(transformer manifests.ParameterTransformer) manifests.TransformableGenerator
		WithObjectTransformer(transformer manifests.ObjectTransformer) manifests.TransformableGenerator
	})(nil)
)

// copied is what generated code of API types calls.
type copied[T any] interface {
	*T
	DeepCopy() *T
	DeepCopyInto(out *T)
}

func mustBeCopied[T any, P copied[T]]() struct{} { return struct{}{} }

var _ = []struct{}{
	mustBeCopied[manifests.KustomizePatch](), mustBeCopied[manifests.KustomizeSelector](), mustBeCopied[manifests.KustomizeImage](),
}
