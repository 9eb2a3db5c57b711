import { StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { Canvas } from '@react-three/fiber'
import { Reel } from './Reel.jsx'

createRoot(document.getElementById('root')).render(
    <StrictMode>
        <Canvas camera={{ position: [0, 0, 4] }}>
            <hemisphereLight args={['#dfe8f5', '#4a4038', 3]} />
            <Suspense fallback={null}>
                <Reel url="/cloth.reel" />
            </Suspense>
        </Canvas>
    </StrictMode>,
)
