// Package deploy has manifests of a fleet. It is a module of its own, for the API types of Kubernetes.
package deploy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The manifests are what Kubernetes knows, without a field that it would ignore.
func TestManifests(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{apps.AddToScheme, core.AddToScheme, policy.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	strict := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	files, err := filepath.Glob("kubernetes-*.yaml")
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
		kinds := map[string]bool{}
		for buf := make([]byte, 1<<20); ; {
			n, err := documents.Read(buf)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(file, err)
			}
			object, kind, err := strict.Decode(buf[:n], nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			kinds[kind.Kind] = true
			if set, ok := object.(*apps.StatefulSet); ok && set.Spec.Template.Spec.Containers[0].ReadinessProbe == nil {
				t.Errorf("%s: no probe", file)
			}
		}
		if !kinds["ConfigMap"] || !kinds["Service"] || !kinds["PodDisruptionBudget"] || !kinds["Deployment"] && !kinds["StatefulSet"] {
			t.Errorf("%s has %v", file, kinds)
		}
	}
}
