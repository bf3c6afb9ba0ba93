package providers

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Heading is what is known of a conversation without reading it.
type Heading struct {
	ID       string    `json:"id"`
	Title    string    `json:"title,omitempty"`
	Provider string    `json:"provider,omitempty"` // Candidate.Name of the one that it was last held with
	Model    string    `json:"model,omitempty"`
	System   string    `json:"system,omitempty"`
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"`
}

// A Transcript is a conversation as data. Its JSON is versioned: the members of Heading
// and of Run beside "version".
type Transcript struct {
	Heading
	Run
}

// transcriptJSON is how a Transcript is written.
type transcriptJSON struct {
	Version string `json:"version"`
	*Heading
	*plainRun
}

// MarshalJSON writes the transcript with its version.
func (t *Transcript) MarshalJSON() ([]byte, error) {
	return marshal(transcriptJSON{formatVersion, &t.Heading, t.plain()})
}

// UnmarshalJSON reads what MarshalJSON wrote, of a version that is known, and repairs it
// as Run's does.
func (t *Transcript) UnmarshalJSON(data []byte) error {
	if err := checkVersion("conversation", data); err != nil {
		return err
	}
	var read Transcript
	if err := json.Unmarshal(data, &transcriptJSON{Heading: &read.Heading, plainRun: (*plainRun)(&read.Run)}); err != nil {
		return fmt.Errorf("conversation: %w", err)
	}
	if err := read.settle(); err != nil {
		return fmt.Errorf("conversation: %w", err)
	}
	*t = read
	return nil
}
